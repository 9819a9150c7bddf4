#include "executor/transformer/head.h"

#include "executor/transformer/linear.h"

namespace trainyard::executor {

void head_forward(Device& device, Stream stream, const BlockShape& shape, ConstValues weight, ConstValues normed,
                  const std::int32_t* targets, Values logits, float* statistics) {
  linear_forward(device, stream, head_product(shape), normed, weight, {}, logits);
  device.loss_statistics(stream, logits, targets, statistics, shape.tokens, shape.vocabulary.size(),
                         shape.vocabulary.begin);
}

void head_backward_input(Device& device, Stream stream, const BlockShape& shape, ConstValues weight,
                         ConstValues logits_grad, Values normed_grad) {
  linear_backward_input(device, stream, head_product(shape), logits_grad, weight, normed_grad);
}

void head_backward_weight(Device& device, Stream stream, const BlockShape& shape, ConstValues logits_grad,
                          ConstValues normed, Values weight_grad, bool accumulate) {
  linear_backward_weight(device, stream, head_product(shape), logits_grad, normed, weight_grad, {}, accumulate);
}

void loss(Device& device, Stream stream, const BlockShape& shape, const LossOperands& operands) {
  device.loss_gradient(stream, operands.logits, operands.targets, operands.statistics, operands.parts, shape.tokens,
                       shape.vocabulary.size(), shape.vocabulary.begin, operands.scale, operands.loss_sum);
}

}  // namespace trainyard::executor
