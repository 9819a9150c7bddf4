#include "executor/transformer/block_shape.h"

#include "core/program/storage_type.h"

namespace trainyard::executor {

BlockShape block_shape(const Plan& plan, int tensor_index, std::int64_t query_tile) {
  const LocalShape local = local_shape(plan.model, plan.layout.tensor, tensor_index);
  BlockShape shape;
  shape.sequences = plan.layout.micro_batch;
  shape.sequence = plan.training.sequence;
  shape.tokens = shape.sequences * shape.sequence;
  shape.hidden = plan.model.hidden;
  shape.heads = local.heads;
  shape.key_value_heads = local.key_value_heads;
  shape.head_size = plan.model.head_size;
  shape.feed_forward = local.feed_forward;
  shape.vocabulary = local.vocabulary;
  shape.query_tile = query_tile;
  shape.type = plan.layout.compute_type;
  shape.inputs_first = plan.model.family == ModelFamily::kGpt2;
  shape.layer_norm = plan.model.normalization == Normalization::kLayer;
  shape.rotary = plan.model.position_encoding == PositionEncoding::kRotary;
  shape.gated = plan.model.gated_feed_forward;
  shape.epsilon = static_cast<float>(plan.model.norm_epsilon);
  return shape;
}

Attention attention_operation(const BlockShape& shape, AttentionPass pass) {
  Attention attention;
  attention.sequences = shape.sequences;
  attention.query_heads = shape.heads;
  attention.key_heads = shape.key_value_heads;
  attention.queries = shape.sequence;
  attention.keys = shape.sequence;
  attention.head_size = shape.head_size;
  attention.mask = AttentionMask::kCausal;
  attention.pass = pass;
  attention.query_tile = shape.query_tile;
  attention.type = storage_type(shape.type);
  return attention;
}

}  // namespace trainyard::executor
