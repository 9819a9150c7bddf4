// Head and loss segments: logits over this rank's vocabulary slice, and the cross-entropy over all slices
// (vocabulary-parallel, Shoeybi et al. 2019, section 3) from three numbers per row.
//
//   logits = normed Whead^T   [t, v]
//   statistics [t, 3]: row maximum, sum of exp(logit - maximum), target's logit or -inf
//   loss of a token = log(sum over slices of s_p exp(m_p - m)) + m - target's logit,   m = max m_p
//   logits' = (softmax - onehot) * scale,   scale = 1 / tokens of the whole step
//
// With that scale, gradients of micro-batches and of data-parallel ranks simply add.
#pragma once

#include "executor/device/device.h"
#include "executor/transformer/block_shape.h"

namespace trainyard::executor {

void head_forward(Device& device, Stream stream, const BlockShape& shape, ConstValues weight, ConstValues normed,
                  const std::int32_t* targets, Values logits, float* statistics);

// normed_grad [t, h], partial over tensor-parallel ranks.
void head_backward_input(Device& device, Stream stream, const BlockShape& shape, ConstValues weight,
                         ConstValues logits_grad, Values normed_grad);

void head_backward_weight(Device& device, Stream stream, const BlockShape& shape, ConstValues logits_grad,
                          ConstValues normed, Values weight_grad, bool accumulate);

struct LossOperands {
  Values logits;  // turned into their gradient unless scale is 0
  const std::int32_t* targets = nullptr;
  const float* statistics = nullptr;  // [parts, t, 3]
  int parts = 1;
  float scale = 0;
  std::int64_t* loss_sum = nullptr;  // null on all but one of the ranks that hold slices of the same rows
};
void loss(Device& device, Stream stream, const BlockShape& shape, const LossOperands& operands);

}  // namespace trainyard::executor
