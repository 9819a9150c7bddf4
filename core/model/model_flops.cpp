#include "core/model/model_flops.h"

#include "core/model/layer_shape.h"

namespace trainyard {

namespace {

// Of a layer, one token, forward and backward: two products of 2 h d k FLOPs, and twice as much backward.
double attention_flops(const LayerShape& layer, std::int64_t sequence) {
  const AttentionShape& attention = layer.attention;
  const auto width = static_cast<double>(attention.query_elements() + attention.output_elements());
  return 6.0 * width * mean_keys(attention, sequence);
}

}  // namespace

std::int64_t matmul_parameter_count(const ModelSpec& model) {
  const ModelShape shape = model_shape(model);
  std::int64_t total = shape.head.weights();
  for (std::size_t kind = 0; kind < shape.kinds.size(); ++kind) {
    total += shape.count[kind] * active_weight_count(shape.kinds[kind]);
  }
  if (const std::optional<MultiTokenShape>& multi = shape.multi_token) {
    total += multi->blocks * (multi->projection.weights() + active_weight_count(multi->layer) + shape.head.weights());
  }
  return total;
}

Flops model_flops_per_token(const ModelSpec& model, std::int64_t sequence, AttentionConvention convention) {
  const ModelShape shape = model_shape(model);
  double attention = 0.0;
  for (std::size_t kind = 0; kind < shape.kinds.size(); ++kind) {
    attention += static_cast<double>(shape.count[kind]) * attention_flops(shape.kinds[kind], sequence);
  }
  if (shape.multi_token) {
    attention += static_cast<double>(shape.multi_token->blocks) * attention_flops(shape.multi_token->layer, sequence);
  }
  const double products = 6.0 * static_cast<double>(matmul_parameter_count(model));
  return from_si<Flops>(products + (convention == AttentionConvention::kFull ? 2.0 : 1.0) * attention);
}

}  // namespace trainyard
