#include "core/model/parameter.h"

#include <functional>
#include <numeric>

#include "core/model/layer_shape.h"

namespace trainyard {

namespace {

// By to_string's order: one name a kind.
struct KindName {
  ParameterKind kind;
  std::string_view name;
};
constexpr KindName kKindNames[] = {
    {ParameterKind::kEmbedding, "embedding"},
    {ParameterKind::kAttentionNorm, "attention_norm"},
    {ParameterKind::kQuery, "query"},
    {ParameterKind::kKey, "key"},
    {ParameterKind::kValue, "value"},
    {ParameterKind::kOutput, "output"},
    {ParameterKind::kMlpNorm, "mlp_norm"},
    {ParameterKind::kGate, "gate"},
    {ParameterKind::kUp, "up"},
    {ParameterKind::kDown, "down"},
    {ParameterKind::kFinalNorm, "final_norm"},
    {ParameterKind::kHead, "head"},
    {ParameterKind::kPositionEmbedding, "position_embedding"},
    {ParameterKind::kEmbeddingNorm, "embedding_norm"},
    {ParameterKind::kQueryKeyValue, "query_key_value"},
    {ParameterKind::kQueryNorm, "query_norm"},
    {ParameterKind::kKeyNorm, "key_norm"},
    {ParameterKind::kSinks, "sinks"},
    {ParameterKind::kQueryLatent, "query_latent"},
    {ParameterKind::kQueryLatentNorm, "query_latent_norm"},
    {ParameterKind::kKeyValueLatent, "key_value_latent"},
    {ParameterKind::kKeyValueLatentNorm, "key_value_latent_norm"},
    {ParameterKind::kKeyValue, "key_value"},
    {ParameterKind::kGateUp, "gate_up"},
    {ParameterKind::kRouter, "router"},
    {ParameterKind::kExpertGate, "expert_gate"},
    {ParameterKind::kExpertUp, "expert_up"},
    {ParameterKind::kExpertGateUp, "expert_gate_up"},
    {ParameterKind::kExpertDown, "expert_down"},
    {ParameterKind::kSharedGate, "shared_gate"},
    {ParameterKind::kSharedUp, "shared_up"},
    {ParameterKind::kSharedDown, "shared_down"},
    {ParameterKind::kMultiTokenNorm, "multi_token_norm"},
    {ParameterKind::kMultiTokenProjection, "multi_token_projection"},
};

std::int64_t total(const ModelSpec& model, std::int64_t (*of_layer)(const LayerShape&)) {
  const ModelShape shape = model_shape(model);
  std::int64_t sum = shape.embedding_parameters + shape.position_parameters + shape.final_norm_parameters +
                     (model.tied_embeddings ? 0 : shape.head.parameters());
  for (std::size_t kind = 0; kind < shape.kinds.size(); ++kind) {
    sum += shape.count[kind] * of_layer(shape.kinds[kind]);
  }
  return sum;
}

}  // namespace

std::string_view to_string(ParameterKind kind) {
  for (const KindName& known : kKindNames) {
    if (known.kind == kind) {
      return known.name;
    }
  }
  return "?";
}

std::int64_t element_count(const Parameter& parameter) {
  return std::accumulate(parameter.shape.begin(), parameter.shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t parameter_count(const ModelSpec& model) {
  return total(model, [](const LayerShape& layer) { return parameter_count(layer); });
}

std::int64_t active_parameter_count(const ModelSpec& model) {
  return total(model, [](const LayerShape& layer) { return active_parameter_count(layer); });
}

std::int64_t multi_token_parameter_count(const ModelSpec& model) {
  const ModelShape shape = model_shape(model);
  return shape.multi_token ? parameter_count(*shape.multi_token) : 0;
}

}  // namespace trainyard
