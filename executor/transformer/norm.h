// Norm and residual segments: RMSNorm (Zhang and Sennrich 2019), or LayerNorm (kernel/layer_norm.h), whose rstd holds
// mean and rstd of each token, [t, 2].
//
//   r = residual + branch,   n = r * rstd * w,   rstd = 1 / sqrt(mean(r^2) + eps)
//   backward   r' += d n / d r applied to n';   w' (+)= sum over tokens of n' * r * rstd
//
// residual, branch, normed and their gradients [t, h]; rstd [t]; weight [h].
#pragma once

#include "executor/device/device.h"
#include "executor/transformer/block_shape.h"

namespace trainyard::executor {

struct NormForward {
  ConstValues residual;
  ConstValues branch;  // null: nothing to add, sum isn't written
  ConstValues weight;
  ConstValues bias = {};  // of LayerNorm
  Values sum;
  Values normed;
  float* rstd = nullptr;
};
void norm_forward(Device& device, Stream stream, const BlockShape& shape, const NormForward& operands);

struct NormBackward {
  ConstValues normed_grad;
  ConstValues residual;
  const float* rstd = nullptr;
  ConstValues weight;
  ConstValues incoming;  // gradient of the residual stream from later layers; null: none
  Values residual_grad;  // may be incoming
};
void norm_backward_input(Device& device, Stream stream, const BlockShape& shape, const NormBackward& operands);

// bias_grad: of LayerNorm.
void norm_backward_weight(Device& device, Stream stream, const BlockShape& shape, ConstValues normed_grad,
                          ConstValues residual, const float* rstd, Values weight_grad, Values bias_grad,
                          bool accumulate);

// sum = residual + branch, at the end of a chunk.
void residual_forward(Device& device, Stream stream, const BlockShape& shape, ConstValues residual, ConstValues branch,
                      Values sum);

}  // namespace trainyard::executor
