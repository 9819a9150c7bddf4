#include "core/layout/tensor_sharding.h"

#include "core/error.h"

namespace trainyard {

namespace {

// Query heads that share a key head stay together.
std::int64_t query_heads_per_key_head(const ModelSpec& model) {
  check(model.key_value_heads > 0 && model.heads % model.key_value_heads == 0, "query heads share key heads evenly");
  return model.heads / model.key_value_heads;
}

AxisPlacement cut_dimension(int dimension, std::int64_t unit) {
  AxisPlacement placement;
  placement.axis = Axis::kTensor;
  placement.placement = Placement::kShard;
  placement.dimension = dimension;
  placement.unit = unit;
  return placement;
}

}  // namespace

ShardSpec tensor_sharding(const ModelSpec& model, const Parameter& parameter) {
  ShardSpec spec{parameter.shape, {}};
  switch (parameter.kind) {
    case ParameterKind::kQuery:
      spec.axes.push_back(cut_dimension(0, query_heads_per_key_head(model) * model.head_size));
      break;
    case ParameterKind::kKey:
    case ParameterKind::kValue:
      spec.axes.push_back(cut_dimension(0, model.head_size));
      break;
    case ParameterKind::kOutput:
      spec.axes.push_back(cut_dimension(1, query_heads_per_key_head(model) * model.head_size));
      break;
    case ParameterKind::kDown:
      spec.axes.push_back(cut_dimension(1, 1));
      break;
    case ParameterKind::kGate:
    case ParameterKind::kUp:
    case ParameterKind::kEmbedding:
    case ParameterKind::kHead:
      spec.axes.push_back(cut_dimension(0, 1));
      break;
    case ParameterKind::kAttentionNorm:
    case ParameterKind::kMlpNorm:
    case ParameterKind::kFinalNorm:
      break;
  }
  return spec;
}

LocalShape local_shape(const ModelSpec& model, int tensor_size, int tensor_index) {
  check(model.key_value_heads % tensor_size == 0, "tp divides the key and value heads");
  LocalShape shape;
  shape.key_value_heads = model.key_value_heads / tensor_size;
  shape.heads = shape.key_value_heads * query_heads_per_key_head(model);
  shape.feed_forward = even_range(model.feed_forward, tensor_size, tensor_index).size();
  shape.vocabulary = even_range(model.vocabulary, tensor_size, tensor_index);
  return shape;
}

}  // namespace trainyard
