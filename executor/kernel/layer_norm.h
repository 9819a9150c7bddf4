// LayerNorm fused with the residual addition (Ba et al. 2016), one row of h. Types as in norm.h.
//
//   forward   x = residual + branch;  m = mean(x);  s = 1 / sqrt(mean((x - m)^2) + epsilon);  y = (x - m) s w + b
//   backward  u = (x - m) s, g = w dy;  dx = incoming + s (g - mean(g) - u mean(g u))
//   weight    dw = sum over rows of dy u;  db = sum over rows of dy
//
// Bytes moved, per row: as RMSNorm's (norm.h).
#pragma once

#include <cmath>
#include <cstdint>

#include "executor/kernel/bfloat16.h"
#include "executor/kernel/host_device.h"

namespace trainyard::executor {

struct RowMoments {
  float mean = 0.0f;
  float rstd = 0.0f;
};

// branch null: `sum` is not written and residual is x.
template <class Group, class T>
TRAINYARD_HOST_DEVICE inline RowMoments layer_norm_forward_row(const Group& group, const T* residual, const T* branch,
                                                               const T* weight, const T* bias, T* sum, T* normed,
                                                               std::int64_t h, float epsilon) {
  const T* x = residual;
  if (branch != nullptr) {
    group.each(h, [&](auto i) { store(sum + i, load(residual + i) + load(branch + i)); });
    x = sum;
  }
  const float mean = group.sum(h, [&](auto i) { return load(x + i); }) / static_cast<float>(h);
  const float squares = group.sum(h, [&](auto i) {
    const auto distance = load(x + i) - mean;
    return distance * distance;
  });
  const float rstd = 1.0f / std::sqrt(squares / static_cast<float>(h) + epsilon);
  group.each(h, [&](auto i) { store(normed + i, (load(x + i) - mean) * rstd * load(weight + i) + load(bias + i)); });
  return {mean, rstd};
}

// incoming may be null or residual_grad itself.
template <class Group, class T>
TRAINYARD_HOST_DEVICE inline void layer_norm_backward_row(const Group& group, const T* normed_grad, const T* residual,
                                                          RowMoments row, const T* weight, const T* incoming,
                                                          T* residual_grad, std::int64_t h) {
  const auto scaled = [&](auto i) { return load(weight + i) * load(normed_grad + i); };
  const auto unit = [&](auto i) { return (load(residual + i) - row.mean) * row.rstd; };
  const float along_one = group.sum(h, scaled) / static_cast<float>(h);
  const float along_x = group.sum(h, [&](auto i) { return scaled(i) * unit(i); }) / static_cast<float>(h);
  const auto gradient = [&](auto i) { return row.rstd * (scaled(i) - along_one - unit(i) * along_x); };
  if (incoming != nullptr) {
    group.each(h, [&](auto i) { store(residual_grad + i, load(incoming + i) + gradient(i)); });
  } else {
    group.each(h, [&](auto i) { store(residual_grad + i, gradient(i)); });
  }
}

}  // namespace trainyard::executor
