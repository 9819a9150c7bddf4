// RMSNorm fused with the residual addition (Zhang and Sennrich 2019), one row of h.
//
//   forward   x = residual + branch;  s = 1 / sqrt(mean(x^2) + epsilon);  y = x s w
//   backward  dx = incoming + s (w dy) - x s^3 mean(x w dy)
//   weight    dw = sum over rows of dy x s
//
// Bytes moved, per row: forward 8 h + 8 h with a branch, 4 h + 4 h without (the weight stays in cache);
// backward 12 h read with incoming, 8 h without, 4 h written; weight gradient 8 h read.
#pragma once

#include <cmath>
#include <cstdint>

#include "executor/kernel/host_device.h"

namespace trainyard::executor {

// Returns s. branch null: `sum` is not written and residual is x.
template <class Group>
TRAINYARD_HOST_DEVICE inline float norm_forward_row(const Group& group, const float* residual, const float* branch,
                                                    const float* weight, float* sum, float* normed, std::int64_t h,
                                                    float epsilon) {
  const float* x = residual;
  if (branch != nullptr) {
    group.each(h, [&](std::int64_t i) { sum[i] = residual[i] + branch[i]; });
    x = sum;
  }
  const float squares = group.sum(h, [&](std::int64_t i) { return x[i] * x[i]; });
  const float rstd = 1.0f / std::sqrt(squares / static_cast<float>(h) + epsilon);
  group.each(h, [&](std::int64_t i) { normed[i] = x[i] * rstd * weight[i]; });
  return rstd;
}

template <class Group>
TRAINYARD_HOST_DEVICE inline void norm_backward_row(const Group& group, const float* normed_grad, const float* residual,
                                                    float rstd, const float* weight, const float* incoming,
                                                    float* residual_grad, std::int64_t h) {
  const float dot = group.sum(h, [&](std::int64_t i) { return normed_grad[i] * weight[i] * residual[i]; });
  const float along = rstd * rstd * rstd * dot / static_cast<float>(h);
  if (incoming != nullptr) {
    group.each(h, [&](std::int64_t i) {
      residual_grad[i] = incoming[i] + (rstd * weight[i] * normed_grad[i] - along * residual[i]);
    });
  } else {
    group.each(h, [&](std::int64_t i) { residual_grad[i] = rstd * weight[i] * normed_grad[i] - along * residual[i]; });
  }
}

}  // namespace trainyard::executor
