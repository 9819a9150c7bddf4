#include "executor/transformer/mlp.h"

namespace trainyard::executor {

void mlp_forward(Device& device, Stream stream, const BlockShape& shape, const MlpWeights& weights,
                 const MlpForward& operands) {
  device.matmul(stream, linear_forward(shape, 2 * shape.feed_forward, shape.hidden), operands.normed, weights.gate_up,
                operands.gate_up, {});
  device.swiglu_forward(stream, operands.gate_up, operands.activated, shape.tokens, shape.feed_forward);
  device.matmul(stream, linear_forward(shape, shape.hidden, shape.feed_forward), operands.activated, weights.down,
                operands.branch, {});
}

void mlp_backward_input(Device& device, Stream stream, const BlockShape& shape, const MlpWeights& weights,
                        const MlpBackwardInput& operands) {
  device.matmul(stream, linear_input_gradient(shape, shape.hidden, shape.feed_forward), operands.branch_grad,
                weights.down, operands.activated_grad, {});
  device.swiglu_backward(stream, operands.gate_up, operands.activated_grad, operands.gate_up_grad, shape.tokens,
                         shape.feed_forward);
  device.matmul(stream, linear_input_gradient(shape, 2 * shape.feed_forward, shape.hidden), operands.gate_up_grad,
                weights.gate_up, operands.normed_grad, {});
}

void mlp_backward_weight(Device& device, Stream stream, const BlockShape& shape, const MlpBackwardWeight& operands) {
  device.matmul(stream, linear_weight_gradient(shape, shape.hidden, shape.feed_forward, operands.accumulate),
                operands.branch_grad, operands.activated, operands.down_weight_grad, {});
  device.matmul(stream, linear_weight_gradient(shape, 2 * shape.feed_forward, shape.hidden, operands.accumulate),
                operands.gate_up_grad, operands.normed, operands.gate_up_weight_grad, {});
}

}  // namespace trainyard::executor
