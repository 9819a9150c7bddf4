#include "core/layout/tensor_sharding.h"

#include "core/error.h"

namespace trainyard {

namespace {

// Query heads that share a key head stay together.
std::int64_t query_heads_per_key_head(const ModelSpec& model) {
  check(model.key_value_heads > 0 && model.heads % model.key_value_heads == 0, "query heads share key heads evenly");
  return model.heads / model.key_value_heads;
}

// Of a weight [outputs, inputs], what tensor parallelism cuts: whole units of this many rows or columns.
struct Cut {
  enum class Side : std::uint8_t { kNone, kOutputs, kInputs } side = Side::kNone;
  std::int64_t unit = 1;
  bool expert = false;  // over the ranks of expert-tensor instead
};

Cut query_key_value_cut(const ModelSpec& model, ParameterKind kind) {
  const std::int64_t queries = query_heads_per_key_head(model) * model.head_size;
  const std::int64_t values = value_head_size(model);
  switch (kind) {
    case ParameterKind::kQuery:
      return {Cut::Side::kOutputs, model.latent_attention ? model.head_size : queries};
    case ParameterKind::kKeyValue:
      return {Cut::Side::kOutputs, (model.latent_attention ? model.latent_attention->no_rope_size : 0) + values};
    case ParameterKind::kQueryKeyValue:
      return {Cut::Side::kOutputs, queries + 2 * model.head_size};
    case ParameterKind::kOutput:
      return {Cut::Side::kInputs, query_heads_per_key_head(model) * values};
    default:
      return {Cut::Side::kOutputs, model.head_size};
  }
}

Cut cut_of(const ModelSpec& model, ParameterKind kind) {
  switch (kind) {
    case ParameterKind::kQuery:
    case ParameterKind::kKey:
    case ParameterKind::kValue:
    case ParameterKind::kKeyValue:
    case ParameterKind::kQueryKeyValue:
    case ParameterKind::kOutput:
      return query_key_value_cut(model, kind);
    case ParameterKind::kDown:
    case ParameterKind::kSharedDown:
      return {Cut::Side::kInputs};
    case ParameterKind::kGate:
    case ParameterKind::kUp:
    case ParameterKind::kSharedGate:
    case ParameterKind::kSharedUp:
    case ParameterKind::kEmbedding:
    case ParameterKind::kHead:
    case ParameterKind::kMultiTokenProjection:
      return {Cut::Side::kOutputs};
    case ParameterKind::kGateUp:
      return {Cut::Side::kOutputs, 2};  // a row of each
    case ParameterKind::kSinks:
      return {Cut::Side::kOutputs, query_heads_per_key_head(model)};
    case ParameterKind::kExpertGate:
    case ParameterKind::kExpertUp:
      return {Cut::Side::kOutputs, 1, true};
    case ParameterKind::kExpertGateUp:
      return {Cut::Side::kOutputs, 2, true};
    case ParameterKind::kExpertDown:
      return {Cut::Side::kInputs, 1, true};
    default:  // norms, positions, latents, routers: every rank has all of it
      return {};
  }
}

// Where a weight's outputs and inputs are: [outputs, inputs] but for GPT-2's Conv1D and GPT-OSS's stacked experts.
int dimension_of(const ModelSpec& model, const Parameter& parameter, Cut::Side side) {
  const bool stacked = cut_of(model, parameter.kind).expert && !parameter.expert;
  const int first = stacked ? 1 : 0;
  if (parameter.part == ParameterPart::kBias || parameter.shape.size() == 1) {
    return first;
  }
  const bool embedding = parameter.kind == ParameterKind::kEmbedding || parameter.kind == ParameterKind::kHead;
  const bool inputs_first = stacked || (model.family == ModelFamily::kGpt2 && !embedding);
  return (side == Cut::Side::kOutputs) == inputs_first ? first + 1 : first;
}

AxisPlacement shard(Axis axis, int dimension, std::int64_t unit) {
  AxisPlacement placement;
  placement.axis = axis;
  placement.placement = Placement::kShard;
  placement.dimension = dimension;
  placement.unit = unit;
  return placement;
}

}  // namespace

ShardSpec tensor_sharding(const ModelSpec& model, const Parameter& parameter) {
  ShardSpec spec{parameter.shape, {}};
  const Cut cut = cut_of(model, parameter.kind);
  if (cut.expert && !parameter.expert) {
    spec.axes.push_back(shard(Axis::kExpert, 0, 1));
  }
  // A bias of outputs that are partial sums is added once, to the whole.
  const bool whole =
      cut.side == Cut::Side::kNone || (cut.side == Cut::Side::kInputs && parameter.part == ParameterPart::kBias);
  if (!whole) {
    spec.axes.push_back(
        shard(cut.expert ? Axis::kExpertTensor : Axis::kTensor, dimension_of(model, parameter, cut.side), cut.unit));
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
