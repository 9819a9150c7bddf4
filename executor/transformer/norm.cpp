#include "executor/transformer/norm.h"

namespace trainyard::executor {

void norm_forward(Device& device, Stream stream, const BlockShape& shape, const NormForward& operands) {
  device.norm_forward(stream, operands.residual, operands.branch, operands.weight, operands.sum, operands.normed,
                      operands.rstd, shape.tokens, shape.hidden, shape.epsilon);
}

void norm_backward_input(Device& device, Stream stream, const BlockShape& shape, const NormBackward& operands) {
  device.norm_backward(stream, operands.normed_grad, operands.residual, operands.rstd, operands.weight,
                       operands.incoming, operands.residual_grad, shape.tokens, shape.hidden);
}

void norm_backward_weight(Device& device, Stream stream, const BlockShape& shape, ConstValues normed_grad,
                          ConstValues residual, const float* rstd, Values weight_grad, bool accumulate) {
  device.norm_weight_backward(stream, normed_grad, residual, rstd, weight_grad, shape.tokens, shape.hidden, accumulate);
}

void residual_forward(Device& device, Stream stream, const BlockShape& shape, ConstValues residual, ConstValues branch,
                      Values sum) {
  device.add(stream, residual, branch, sum, shape.tokens * shape.hidden);
}

}  // namespace trainyard::executor
