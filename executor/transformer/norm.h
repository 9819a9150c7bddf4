// Norm and residual segments (RMSNorm, Zhang and Sennrich 2019).
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
  const float* residual = nullptr;
  const float* branch = nullptr;  // null: nothing to add, sum isn't written
  const float* weight = nullptr;
  float* sum = nullptr;
  float* normed = nullptr;
  float* rstd = nullptr;
};
void norm_forward(Device& device, Stream stream, const BlockShape& shape, const NormForward& operands);

struct NormBackward {
  const float* normed_grad = nullptr;
  const float* residual = nullptr;
  const float* rstd = nullptr;
  const float* weight = nullptr;
  const float* incoming = nullptr;  // gradient of the residual stream from later layers; null: none
  float* residual_grad = nullptr;   // may be incoming
};
void norm_backward_input(Device& device, Stream stream, const BlockShape& shape, const NormBackward& operands);

void norm_backward_weight(Device& device, Stream stream, const BlockShape& shape, const float* normed_grad,
                          const float* residual, const float* rstd, float* weight_grad, bool accumulate);

// sum = residual + branch, at the end of a chunk.
void residual_forward(Device& device, Stream stream, const BlockShape& shape, const float* residual,
                      const float* branch, float* sum);

}  // namespace trainyard::executor
