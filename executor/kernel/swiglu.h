// SwiGLU (Shazeer 2020): gate and up are the two halves of a row of 2 f.
//
//   forward   y = g sigmoid(g) u
//   backward  dg = dy u s (1 + g (1 - s)),  du = dy g s,  with s = sigmoid(g)
//
// Bytes moved, per row, in fp32 (bf16: half): forward 8 f read + 4 f written; backward 12 f read + 8 f written.
#pragma once

#include <cstdint>

#include "executor/kernel/bfloat16.h"
#include "executor/kernel/exponential.h"
#include "executor/kernel/host_device.h"

namespace trainyard::executor {

template <class Group, class T>
TRAINYARD_HOST_DEVICE inline void swiglu_forward_row(const Group& group, const T* gate_up, T* activated,
                                                     std::int64_t f) {
  const T* up = gate_up + f;
  group.each(f, [&](auto i) {
    const auto gate = load(gate_up + i);
    store(activated + i, gate * sigmoid(gate) * load(up + i));
  });
}

template <class Group, class T>
TRAINYARD_HOST_DEVICE inline void swiglu_backward_row(const Group& group, const T* gate_up, const T* activated_grad,
                                                      T* gate_up_grad, std::int64_t f) {
  const T* up = gate_up + f;
  T* up_grad = gate_up_grad + f;
  group.each(f, [&](auto i) {
    const auto gate = load(gate_up + i);
    const auto s = sigmoid(gate);
    const auto grad = load(activated_grad + i);
    const auto up_value = load(up + i);
    store(gate_up_grad + i, grad * up_value * s * (1.0f + gate * (1.0f - s)));
    store(up_grad + i, grad * gate * s);
  });
}

}  // namespace trainyard::executor
