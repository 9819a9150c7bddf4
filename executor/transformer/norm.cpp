#include "executor/transformer/norm.h"

namespace trainyard::executor {

void norm_forward(Device& device, Stream stream, const BlockShape& shape, const NormForward& x) {
  if (shape.layer_norm) {
    device.layer_norm_forward(stream, x.residual, x.branch, x.weight, x.bias, x.sum, x.normed, x.rstd, shape.tokens,
                              shape.hidden, shape.epsilon);
  } else {
    device.norm_forward(stream, x.residual, x.branch, x.weight, x.sum, x.normed, x.rstd, shape.tokens, shape.hidden,
                        shape.epsilon);
  }
}

void norm_backward_input(Device& device, Stream stream, const BlockShape& shape, const NormBackward& x) {
  if (shape.layer_norm) {
    device.layer_norm_backward(stream, x.normed_grad, x.residual, x.rstd, x.weight, x.incoming, x.residual_grad,
                               shape.tokens, shape.hidden);
  } else {
    device.norm_backward(stream, x.normed_grad, x.residual, x.rstd, x.weight, x.incoming, x.residual_grad, shape.tokens,
                         shape.hidden);
  }
}

void norm_backward_weight(Device& device, Stream stream, const BlockShape& shape, ConstValues normed_grad,
                          ConstValues residual, const float* rstd, Values weight_grad, Values bias_grad,
                          bool accumulate) {
  if (shape.layer_norm) {
    device.layer_norm_weight_backward(stream, normed_grad, residual, rstd, weight_grad, bias_grad, shape.tokens,
                                      shape.hidden, accumulate);
  } else {
    device.norm_weight_backward(stream, normed_grad, residual, rstd, weight_grad, shape.tokens, shape.hidden,
                                accumulate);
  }
}

void residual_forward(Device& device, Stream stream, const BlockShape& shape, ConstValues residual, ConstValues branch,
                      Values sum) {
  device.add(stream, residual, branch, sum, shape.tokens * shape.hidden);
}

}  // namespace trainyard::executor
