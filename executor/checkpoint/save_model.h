// Saving a model that is spread over ranks as one folder that `transformers` loads: model.safetensors and
// config.json.
//
// In the type that the model computes in: a bf16 run gives BF16 tensors, one of fp16 F16, as models are published and
// loaded by default (torch_dtype in config.json). Checkpoints keep the fp32 master weights.
#pragma once

#include <filesystem>

#include "executor/communicator/communicator.h"
#include "executor/worker/worker.h"

namespace trainyard::executor {

// All ranks call it; they share the file system. Rank 0 makes a temporary file at full length, each rank
// writes its slices into it, and when all are on the disk rank 0 gives it its name. A run that dies before
// leaves an earlier model.safetensors untouched. Errors name the file.
void save_model(Worker& worker, Communicator& communicator, const std::filesystem::path& folder);

}  // namespace trainyard::executor
