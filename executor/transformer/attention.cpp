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

Linear qkv_product(const BlockShape& shape) { return layer_product(shape, shape.qkv_columns(), shape.hidden); }
Linear output_product(const BlockShape& shape) { return layer_product(shape, shape.hidden, shape.query_columns()); }
}  // namespace

void attention_forward(Device& device, Stream stream, const BlockShape& shape, const AttentionWeights& weights,
                       const AttentionForward& operands) {
  linear_forward(device, stream, qkv_product(shape), operands.normed, weights.qkv, weights.qkv_bias, operands.qkv);
  if (shape.rotary) {
    device.rope_forward(stream, rope_shape(shape, weights), operands.qkv);
  }
  device.attention_forward(stream, attention_operation(shape, AttentionPass::kForward), operands.qkv,
                           operands.attention, operands.log_sum_exp);
  linear_forward(device, stream, output_product(shape), operands.attention, weights.output, weights.output_bias,
                 operands.branch);
}

void attention_backward_input(Device& device, Stream stream, const BlockShape& shape, const AttentionWeights& weights,
                              const AttentionBackwardInput& operands) {
  linear_backward_input(device, stream, output_product(shape), operands.branch_grad, weights.output,
                        operands.attention_grad);
  device.attention_backward(stream, attention_operation(shape, AttentionPass::kBackward), operands.qkv,
                            operands.attention, operands.log_sum_exp, operands.attention_grad, operands.qkv_grad);
  if (shape.rotary) {
    device.rope_backward(stream, rope_shape(shape, weights), operands.qkv_grad);
  }
  linear_backward_input(device, stream, qkv_product(shape), operands.qkv_grad, weights.qkv, operands.normed_grad);
}

void attention_backward_weight(Device& device, Stream stream, const BlockShape& shape,
                               const AttentionBackwardWeight& operands) {
  linear_backward_weight(device, stream, output_product(shape), operands.branch_grad, operands.attention,
                         operands.output_weight_grad, operands.output_bias_grad, operands.accumulate);
  linear_backward_weight(device, stream, qkv_product(shape), operands.qkv_grad, operands.normed,
                         operands.qkv_weight_grad, operands.qkv_bias_grad, operands.accumulate);
}

}  // namespace trainyard::executor
