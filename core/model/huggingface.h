// Hugging Face config.json <-> ModelSpec.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/model/model_spec.h"

namespace trainyard {

// Reads the families of ModelFamily. Throws Error with file and JSON pointer for what a ModelSpec can't say: another
// model_type, an activation or rotary scaling it doesn't know, sizes that don't divide. Keys that change neither a
// shape nor a cost (architectures, torch_dtype, token ids, a router's scoring, ...) are accepted and not kept.
// What of these the executor trains, Capabilities say.
ModelSpec read_huggingface_config(const std::filesystem::path& file);
ModelSpec parse_huggingface_config(const std::string& text, const std::string& where);

// The config.json that `transformers` loads beside our safetensors; of the same shape for any family. weights: their
// type, as torch calls it.
std::string huggingface_config(const ModelSpec& model, std::string_view weights = "float32");

}  // namespace trainyard
