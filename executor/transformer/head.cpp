#include "executor/transformer/head.h"

namespace trainyard::executor {

void head_forward(Device& device, Stream stream, const BlockShape& shape, ConstValues weight, ConstValues normed,
                  const std::int32_t* targets, Values logits, float* statistics) {
  device.matmul(stream, linear_forward(shape, shape.vocabulary.size(), shape.hidden), normed, weight, logits, {});
  device.loss_statistics(stream, logits, targets, statistics, shape.tokens, shape.vocabulary.size(),
                         shape.vocabulary.begin);
}

void head_backward_input(Device& device, Stream stream, const BlockShape& shape, ConstValues weight,
                         ConstValues logits_grad, Values normed_grad) {
  device.matmul(stream, linear_input_gradient(shape, shape.vocabulary.size(), shape.hidden), logits_grad, weight,
                normed_grad, {});
}

void head_backward_weight(Device& device, Stream stream, const BlockShape& shape, ConstValues logits_grad,
                          ConstValues normed, Values weight_grad, bool accumulate) {
  device.matmul(stream, linear_weight_gradient(shape, shape.vocabulary.size(), shape.hidden, accumulate), logits_grad,
                normed, weight_grad, {});
}

void loss(Device& device, Stream stream, const BlockShape& shape, const LossOperands& operands) {
  device.loss_gradient(stream, operands.logits, operands.targets, operands.statistics, operands.parts, shape.tokens,
                       shape.vocabulary.size(), shape.vocabulary.begin, operands.scale, operands.loss_sum);
}

}  // namespace trainyard::executor
