// The parts of reading a Hugging Face config.json: which family it is of, and its dialect's keys.
//
// Two dialects. Llama's, with hidden_size, num_key_value_heads, rope_theta, ..., that most families since 2023 write;
// and GPT's, each family with its own spelling.
#pragma once

#include <string_view>

#include "core/document/object_reader.h"
#include "core/model/model_spec.h"

namespace trainyard {

struct FamilyName {
  ModelFamily family = ModelFamily::kLlama;
  std::string_view architecture;  // transformers' class of the causal language model
};

// Throws Error for a model_type that no family has.
FamilyName read_family(ObjectReader& config);
std::string_view architecture_of(ModelFamily family);

// Fill `model`, whose family is set, from the family's keys. Throw Error for what a ModelSpec can't say.
void read_llama_dialect(ObjectReader& config, ModelSpec& model);
void read_gpt2(ObjectReader& config, ModelSpec& model);
void read_bloom(ObjectReader& config, ModelSpec& model);
void read_opt(ObjectReader& config, ModelSpec& model);
void read_falcon(ObjectReader& config, ModelSpec& model);

// Shared by the dialects. An activation by its name there ("gelu_new"); head_size, even under rotary positions.
Activation read_activation(ObjectReader& config, std::string_view key, std::string_view usual);
void set_head_size(ObjectReader& config, ModelSpec& model, std::string_view heads_key,
                   std::optional<std::int64_t> given);

// rope_theta, rope_scaling and partial_rotary_factor, where transformers 4 and where 5 writes them.
void read_rope(ObjectReader& config, ModelSpec& model, double usual_theta);

}  // namespace trainyard
