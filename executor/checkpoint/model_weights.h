// Weights of a model from a folder in Hugging Face's form: model.safetensors, or the parts that
// model.safetensors.index.json lists.
#pragma once

#include <filesystem>

#include "core/model/model_spec.h"
#include "executor/worker/tensor_slice.h"

namespace trainyard::executor {

// Opens the folder and checks that it holds exactly the model's parameters (rotary buffers of old files and
// the copy of a tied head are passed over). Throws Error naming the file and tensor for a missing one, an
// unknown one, a wrong shape or a type other than F32, BF16, F16.
WeightSource open_weights(const std::filesystem::path& folder, const ModelSpec& model);

}  // namespace trainyard::executor
