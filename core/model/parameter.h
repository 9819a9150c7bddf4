// Parameters of a model: names and shapes as Hugging Face stores them, so that a file of weights can be read and
// written, and which part of the model each is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/model_spec.h"

namespace trainyard {

enum class ParameterKind : std::uint8_t {
  kEmbedding,      // [vocabulary, hidden]
  kAttentionNorm,  // [hidden]
  kQuery,          // [heads * head_size, hidden]
  kKey,            // [key_value_heads * head_size, hidden]
  kValue,
  kOutput,   // [hidden, heads * head_size]
  kMlpNorm,  // [hidden]
  kGate,     // [feed_forward, hidden]
  kUp,
  kDown,       // [hidden, feed_forward]
  kFinalNorm,  // [hidden]
  kHead,       // [vocabulary, hidden]
  // Beyond the Llama family.
  kPositionEmbedding,  // [position rows, hidden]
  kEmbeddingNorm,
  kQueryKeyValue,  // stored as one
  kQueryNorm,      // of heads
  kKeyNorm,
  kSinks,        // [heads]
  kQueryLatent,  // [query_rank, hidden]; then kQuery is [heads * head_size, query_rank]
  kQueryLatentNorm,
  kKeyValueLatent,  // [key_value_rank + rope_size, hidden]
  kKeyValueLatentNorm,
  kKeyValue,  // [heads * (no_rope_size + value_head_size), key_value_rank]
  kGateUp,    // stored as one
  kRouter,    // [experts, hidden]
  kExpertGate,
  kExpertUp,
  kExpertGateUp,
  kExpertDown,
  kSharedGate,
  kSharedUp,
  kSharedDown,
  kMultiTokenNorm,        // of the hidden state, of the next token's embedding, before the head
  kMultiTokenProjection,  // [hidden, 2 hidden]
};
std::string_view to_string(ParameterKind kind);

enum class ParameterPart : std::uint8_t {
  kWeight,  // of a product, or a norm's scale
  kBias,    // of a product, or a norm's shift
};

struct Parameter {
  ParameterKind kind = ParameterKind::kEmbedding;
  std::optional<int> layer;  // multi-token blocks count on from the last layer
  std::string name;
  std::vector<std::int64_t> shape;  // global
  ParameterPart part = ParameterPart::kWeight;
  std::optional<int> expert;  // where each is stored by itself; GPT-OSS stacks them in the first dimension
};

std::int64_t element_count(const Parameter& parameter);

// All parameters in the order of the forward pass: embedding, layers 0.., final norm, head. Without multi-token
// blocks, as counts are published.
std::vector<Parameter> parameters(const ModelSpec& model);
std::vector<Parameter> layer_parameters(const ModelSpec& model, int layer);
// Of the multi-token blocks; their embedding and head are the model's.
std::vector<Parameter> multi_token_parameters(const ModelSpec& model);

// Exact; equal the sums over the lists above, and come from layer_shape.h.
std::int64_t parameter_count(const ModelSpec& model);
std::int64_t multi_token_parameter_count(const ModelSpec& model);
// Without the experts that a token doesn't visit; the whole embedding counts.
std::int64_t active_parameter_count(const ModelSpec& model);

}  // namespace trainyard
