#include "executor/transformer/mlp.h"

namespace trainyard::executor {

namespace {
Linear up_product(const BlockShape& shape) { return layer_product(shape, shape.up_columns(), shape.hidden); }
Linear down_product(const BlockShape& shape) { return layer_product(shape, shape.hidden, shape.feed_forward); }
}  // namespace

void mlp_forward(Device& device, Stream stream, const BlockShape& shape, const MlpWeights& weights,
                 const MlpForward& operands) {
  if (shape.gated) {
    linear_forward(device, stream, up_product(shape), operands.normed, weights.gate_up, weights.up_bias,
                   operands.gate_up);
    device.swiglu_forward(stream, operands.gate_up, operands.activated, shape.tokens, shape.feed_forward);
  } else {
    linear_forward_gelu(device, stream, up_product(shape), operands.normed, weights.gate_up, weights.up_bias,
                        operands.gate_up, operands.activated);
  }
  linear_forward(device, stream, down_product(shape), operands.activated, weights.down, weights.down_bias,
                 operands.branch);
}

void mlp_backward_input(Device& device, Stream stream, const BlockShape& shape, const MlpWeights& weights,
                        const MlpBackwardInput& operands) {
  if (shape.gated) {
    linear_backward_input(device, stream, down_product(shape), operands.branch_grad, weights.down,
                          operands.activated_grad);
    device.swiglu_backward(stream, operands.gate_up, operands.activated_grad, operands.gate_up_grad, shape.tokens,
                           shape.feed_forward);
  } else {
    linear_backward_input_gelu(device, stream, down_product(shape), operands.branch_grad, weights.down,
                               operands.gate_up, operands.gate_up_grad);
  }
  linear_backward_input(device, stream, up_product(shape), operands.gate_up_grad, weights.gate_up,
                        operands.normed_grad);
}

void mlp_backward_weight(Device& device, Stream stream, const BlockShape& shape, const MlpBackwardWeight& operands) {
  linear_backward_weight(device, stream, down_product(shape), operands.branch_grad, operands.activated,
                         operands.down_weight_grad, operands.down_bias_grad, operands.accumulate);
  linear_backward_weight(device, stream, up_product(shape), operands.gate_up_grad, operands.normed,
                         operands.gate_up_weight_grad, operands.up_bias_grad, operands.accumulate);
}

}  // namespace trainyard::executor
