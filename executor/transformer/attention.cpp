#include "executor/transformer/attention.h"

namespace trainyard::executor {

namespace {
RopeShape rope_shape(const BlockShape& shape, const AttentionWeights& weights) {
  RopeShape rope;
  rope.tokens = shape.tokens;
  rope.sequence = shape.sequence;
  rope.query_heads = shape.heads;
  rope.key_heads = shape.key_value_heads;
  rope.head_size = shape.head_size;
  rope.cosines = weights.cosines;
  rope.sines = weights.sines;
  return rope;
}
}  // namespace

void attention_forward(Device& device, Stream stream, const BlockShape& shape, const AttentionWeights& weights,
                       const AttentionForward& operands) {
  device.matmul(stream, linear_forward(shape, shape.qkv_columns(), shape.hidden), operands.normed, weights.qkv,
                operands.qkv, {});
  device.rope_forward(stream, rope_shape(shape, weights), operands.qkv);
  device.attention_forward(stream, attention_operation(shape, AttentionPass::kForward), operands.qkv,
                           operands.attention, operands.log_sum_exp);
  device.matmul(stream, linear_forward(shape, shape.hidden, shape.query_columns()), operands.attention, weights.output,
                operands.branch, {});
}

void attention_backward_input(Device& device, Stream stream, const BlockShape& shape, const AttentionWeights& weights,
                              const AttentionBackwardInput& operands) {
  device.matmul(stream, linear_input_gradient(shape, shape.hidden, shape.query_columns()), operands.branch_grad,
                weights.output, operands.attention_grad, {});
  device.attention_backward(stream, attention_operation(shape, AttentionPass::kBackward), operands.qkv,
                            operands.attention, operands.log_sum_exp, operands.attention_grad, operands.qkv_grad);
  device.rope_backward(stream, rope_shape(shape, weights), operands.qkv_grad);
  device.matmul(stream, linear_input_gradient(shape, shape.qkv_columns(), shape.hidden), operands.qkv_grad, weights.qkv,
                operands.normed_grad, {});
}

void attention_backward_weight(Device& device, Stream stream, const BlockShape& shape,
                               const AttentionBackwardWeight& operands) {
  device.matmul(stream, linear_weight_gradient(shape, shape.hidden, shape.query_columns(), operands.accumulate),
                operands.branch_grad, operands.attention, operands.output_weight_grad, {});
  device.matmul(stream, linear_weight_gradient(shape, shape.qkv_columns(), shape.hidden, operands.accumulate),
                operands.qkv_grad, operands.normed, operands.qkv_weight_grad, {});
}

}  // namespace trainyard::executor
