#include "core/model/parameter.h"

#include <functional>
#include <numeric>

namespace trainyard {

namespace {

Parameter layer_parameter(ParameterKind kind, int layer, const char* suffix, std::vector<std::int64_t> shape) {
  return {kind, layer, "model.layers." + std::to_string(layer) + "." + suffix + ".weight", std::move(shape)};
}

std::int64_t count(const std::vector<Parameter>& list) {
  std::int64_t total = 0;
  for (const Parameter& parameter : list) {
    total += element_count(parameter);
  }
  return total;
}

}  // namespace

std::string_view to_string(ParameterKind kind) {
  switch (kind) {
    case ParameterKind::kEmbedding:
      return "embedding";
    case ParameterKind::kAttentionNorm:
      return "attention_norm";
    case ParameterKind::kQuery:
      return "query";
    case ParameterKind::kKey:
      return "key";
    case ParameterKind::kValue:
      return "value";
    case ParameterKind::kOutput:
      return "output";
    case ParameterKind::kMlpNorm:
      return "mlp_norm";
    case ParameterKind::kGate:
      return "gate";
    case ParameterKind::kUp:
      return "up";
    case ParameterKind::kDown:
      return "down";
    case ParameterKind::kFinalNorm:
      return "final_norm";
    case ParameterKind::kHead:
      return "head";
  }
  return "?";
}

std::int64_t element_count(const Parameter& parameter) {
  return std::accumulate(parameter.shape.begin(), parameter.shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::vector<Parameter> layer_parameters(const ModelSpec& model, int layer) {
  const std::int64_t hidden = model.hidden;
  const std::int64_t query = model.heads * model.head_size;
  const std::int64_t key_value = model.key_value_heads * model.head_size;
  return {
      layer_parameter(ParameterKind::kAttentionNorm, layer, "input_layernorm", {hidden}),
      layer_parameter(ParameterKind::kQuery, layer, "self_attn.q_proj", {query, hidden}),
      layer_parameter(ParameterKind::kKey, layer, "self_attn.k_proj", {key_value, hidden}),
      layer_parameter(ParameterKind::kValue, layer, "self_attn.v_proj", {key_value, hidden}),
      layer_parameter(ParameterKind::kOutput, layer, "self_attn.o_proj", {hidden, query}),
      layer_parameter(ParameterKind::kMlpNorm, layer, "post_attention_layernorm", {hidden}),
      layer_parameter(ParameterKind::kGate, layer, "mlp.gate_proj", {model.feed_forward, hidden}),
      layer_parameter(ParameterKind::kUp, layer, "mlp.up_proj", {model.feed_forward, hidden}),
      layer_parameter(ParameterKind::kDown, layer, "mlp.down_proj", {hidden, model.feed_forward}),
  };
}

std::vector<Parameter> parameters(const ModelSpec& model) {
  std::vector<Parameter> all = {
      {ParameterKind::kEmbedding, {}, "model.embed_tokens.weight", {model.vocabulary, model.hidden}}};
  for (int layer = 0; layer < model.layers; ++layer) {
    for (Parameter& parameter : layer_parameters(model, layer)) {
      all.push_back(std::move(parameter));
    }
  }
  all.push_back({ParameterKind::kFinalNorm, {}, "model.norm.weight", {model.hidden}});
  if (!model.tied_embeddings) {
    all.push_back({ParameterKind::kHead, {}, "lm_head.weight", {model.vocabulary, model.hidden}});
  }
  return all;
}

// Layers are alike, so that the count costs one layer however many there are.
std::int64_t parameter_count(const ModelSpec& model) {
  ModelSpec ends = model;
  ends.layers = 0;
  return count(parameters(ends)) + model.layers * count(layer_parameters(model, 0));
}

}  // namespace trainyard
