#include "core/model/model_flops.h"

#include "core/model/parameter.h"

namespace trainyard {

namespace {

bool is_matmul_weight(ParameterKind kind) {
  switch (kind) {
    case ParameterKind::kQuery:
    case ParameterKind::kKey:
    case ParameterKind::kValue:
    case ParameterKind::kOutput:
    case ParameterKind::kGate:
    case ParameterKind::kUp:
    case ParameterKind::kDown:
      return true;
    case ParameterKind::kEmbedding:
    case ParameterKind::kAttentionNorm:
    case ParameterKind::kMlpNorm:
    case ParameterKind::kFinalNorm:
    case ParameterKind::kHead:
      return false;
  }
  return false;
}

}  // namespace

std::int64_t matmul_parameter_count(const ModelSpec& model) {
  std::int64_t layer = 0;
  for (const Parameter& parameter : layer_parameters(model, 0)) {
    layer += is_matmul_weight(parameter.kind) ? element_count(parameter) : 0;
  }
  // A tied head has no parameter of its own but is a product all the same.
  return model.layers * layer + model.vocabulary * model.hidden;
}

Flops model_flops_per_token(const ModelSpec& model, std::int64_t sequence, AttentionConvention convention) {
  const double per_position = convention == AttentionConvention::kFull ? 12.0 : 6.0;
  const double attention = per_position * static_cast<double>(model.layers) * static_cast<double>(sequence) *
                           static_cast<double>(model.heads * model.head_size);
  return from_si<Flops>(6.0 * static_cast<double>(matmul_parameter_count(model)) + attention);
}

}  // namespace trainyard
