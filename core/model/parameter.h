// Parameters of a model: names as Hugging Face stores them, global shapes, and how tensor parallelism may
// cut them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/model_spec.h"

namespace trainyard {

enum class ParameterKind : std::uint8_t {
  kEmbedding,      // model.embed_tokens.weight                 [vocabulary, hidden]
  kAttentionNorm,  // model.layers.N.input_layernorm.weight     [hidden]
  kQuery,          // model.layers.N.self_attn.q_proj.weight    [heads * head_size, hidden]
  kKey,            // model.layers.N.self_attn.k_proj.weight    [kv heads * head_size, hidden]
  kValue,          // model.layers.N.self_attn.v_proj.weight    [kv heads * head_size, hidden]
  kOutput,         // model.layers.N.self_attn.o_proj.weight    [hidden, heads * head_size]
  kMlpNorm,        // model.layers.N.post_attention_layernorm.weight [hidden]
  kGate,           // model.layers.N.mlp.gate_proj.weight       [feed_forward, hidden]
  kUp,             // model.layers.N.mlp.up_proj.weight         [feed_forward, hidden]
  kDown,           // model.layers.N.mlp.down_proj.weight       [hidden, feed_forward]
  kFinalNorm,      // model.norm.weight                         [hidden]
  kHead,           // lm_head.weight                            [vocabulary, hidden]; absent when tied
};
std::string_view to_string(ParameterKind kind);

struct Parameter {
  ParameterKind kind = ParameterKind::kEmbedding;
  std::optional<int> layer;
  std::string name;
  std::vector<std::int64_t> shape;  // global
};

std::int64_t element_count(const Parameter& parameter);

// All parameters in the order of the forward pass: embedding, layers 0.., final norm, head.
std::vector<Parameter> parameters(const ModelSpec& model);
std::vector<Parameter> layer_parameters(const ModelSpec& model, int layer);

// Exact; equals the sum over parameters().
std::int64_t parameter_count(const ModelSpec& model);

}  // namespace trainyard
