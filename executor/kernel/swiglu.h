// SwiGLU (Shazeer 2020): gate and up are the two halves of a row of 2 f.
//
//   forward   y = g sigmoid(g) u
//   backward  dg = dy u s (1 + g (1 - s)),  du = dy g s,  with s = sigmoid(g)
//
// Bytes moved, per row: forward 8 f read + 4 f written; backward 12 f read + 8 f written.
#pragma once

#include <cstdint>

#include "executor/kernel/exponential.h"
#include "executor/kernel/host_device.h"

namespace trainyard::executor {

template <class Group>
TRAINYARD_HOST_DEVICE inline void swiglu_forward_row(const Group& group, const float* gate_up, float* activated,
                                                     std::int64_t f) {
  const float* up = gate_up + f;
  group.each(f, [&](std::int64_t i) { activated[i] = gate_up[i] * sigmoid(gate_up[i]) * up[i]; });
}

template <class Group>
TRAINYARD_HOST_DEVICE inline void swiglu_backward_row(const Group& group, const float* gate_up,
                                                      const float* activated_grad, float* gate_up_grad,
                                                      std::int64_t f) {
  const float* up = gate_up + f;
  float* up_grad = gate_up_grad + f;
  group.each(f, [&](std::int64_t i) {
    const float gate = gate_up[i];
    const float s = sigmoid(gate);
    const float grad = activated_grad[i];
    const float up_value = up[i];
    gate_up_grad[i] = grad * up_value * s * (1.0f + gate * (1.0f - s));
    up_grad[i] = grad * gate * s;
  });
}

}  // namespace trainyard::executor
