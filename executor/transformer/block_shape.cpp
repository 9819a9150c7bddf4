#include "executor/transformer/block_shape.h"

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
  attention.type = shape.type;
  return attention;
}

namespace {
Gemm product(std::int64_t m, std::int64_t n, std::int64_t k, DataType type, Transpose transpose, bool accumulate) {
  Gemm gemm;
  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  gemm.type = type;
  gemm.transpose = transpose;
  gemm.accumulate = accumulate;
  return gemm;
}
}  // namespace

Gemm linear_forward(const BlockShape& shape, std::int64_t out, std::int64_t in) {
  return product(shape.tokens, out, in, shape.type, Transpose::kNT, false);
}

Gemm linear_input_gradient(const BlockShape& shape, std::int64_t out, std::int64_t in) {
  return product(shape.tokens, in, out, shape.type, Transpose::kNN, false);
}

Gemm linear_weight_gradient(const BlockShape& shape, std::int64_t out, std::int64_t in, bool accumulate) {
  return product(out, in, shape.tokens, shape.type, Transpose::kTN, accumulate);
}

}  // namespace trainyard::executor
