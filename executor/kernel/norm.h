// RMSNorm fused with the residual addition (Zhang and Sennrich 2019), one row of h.
//
//   forward   x = residual + branch;  s = 1 / sqrt(mean(x^2) + epsilon);  y = x s w
//   backward  dx = incoming + s (w dy) - x s^3 mean(x w dy)
//   weight    dw = sum over rows of dy x s
//
// Elements are of type T; sums, s and all arithmetic in fp32. In bf16 the sum residual + branch is rounded before it is
// normalised: backward, which reads it from memory, then sees what forward saw.
//
// Bytes moved, per row, for fp32 (bf16: half): forward 8 h + 8 h with a branch, 4 h + 4 h without (the weight stays in
// cache); backward 12 h read with incoming, 8 h without, 4 h written; weight gradient 8 h read.
#pragma once

#include <cmath>
#include <cstdint>

#include "executor/kernel/bfloat16.h"
#include "executor/kernel/host_device.h"

namespace trainyard::executor {

// Returns s. branch null: `sum` is not written and residual is x.
template <class Group, class T>
TRAINYARD_HOST_DEVICE inline float norm_forward_row(const Group& group, const T* residual, const T* branch,
                                                    const T* weight, T* sum, T* normed, std::int64_t h, float epsilon) {
  const T* x = residual;
  if (branch != nullptr) {
    group.each(h, [&](auto i) { store(sum + i, load(residual + i) + load(branch + i)); });
    x = sum;
  }
  const float squares = group.sum(h, [&](auto i) { return load(x + i) * load(x + i); });
  const float rstd = 1.0f / std::sqrt(squares / static_cast<float>(h) + epsilon);
  group.each(h, [&](auto i) { store(normed + i, load(x + i) * rstd * load(weight + i)); });
  return rstd;
}

template <class Group, class T>
TRAINYARD_HOST_DEVICE inline void norm_backward_row(const Group& group, const T* normed_grad, const T* residual,
                                                    float rstd, const T* weight, const T* incoming, T* residual_grad,
                                                    std::int64_t h) {
  const float dot = group.sum(h, [&](auto i) { return load(normed_grad + i) * load(weight + i) * load(residual + i); });
  const float along = rstd * rstd * rstd * dot / static_cast<float>(h);
  if (incoming != nullptr) {
    group.each(h, [&](auto i) {
      store(residual_grad + i,
            load(incoming + i) + (rstd * load(weight + i) * load(normed_grad + i) - along * load(residual + i)));
    });
  } else {
    group.each(h, [&](auto i) {
      store(residual_grad + i, rstd * load(weight + i) * load(normed_grad + i) - along * load(residual + i));
    });
  }
}

}  // namespace trainyard::executor
