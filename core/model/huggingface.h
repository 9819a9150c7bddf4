// Hugging Face config.json <-> ModelSpec.
#pragma once

#include <filesystem>
#include <string>

#include "core/model/model_spec.h"

namespace trainyard {

// Throws Error with file and JSON pointer for anything it can't train faithfully: another model_type,
// biases, an activation other than silu, an unknown rope type, sizes that don't divide. Keys that don't
// change the computation (architectures, torch_dtype, token ids, ...) are accepted.
ModelSpec read_huggingface_config(const std::filesystem::path& file);
ModelSpec parse_huggingface_config(const std::string& text, const std::string& where);

// The config.json that `transformers` loads beside our safetensors.
std::string huggingface_config(const ModelSpec& model);

}  // namespace trainyard
