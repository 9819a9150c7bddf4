// GELU in its tanh form (Hendrycks and Gimpel 2016; "gelu_new" of GPT-2), one element.
//
//   y = x s(2 u),  u = sqrt(2/pi) (x + 0.044715 x^3),  s the sigmoid: the same as x (1 + tanh u) / 2
//   dy/dx = s + 2 x s (1 - s) u',  u' = sqrt(2/pi) (1 + 3 * 0.044715 x^2)
//
// Bytes moved, per element, in fp32 (bf16: half): forward 4 read + 4 written; backward 8 read + 4 written.
#pragma once

#include "executor/kernel/exponential.h"
#include "executor/kernel/host_device.h"

namespace trainyard::executor {

constexpr float kGeluScale = 0.797884560802865356f;  // sqrt(2/pi)
constexpr float kGeluCubic = 0.044715f;

template <class X>
TRAINYARD_HOST_DEVICE inline X gelu(const X& x) {
  return x * sigmoid(2.0f * kGeluScale * (x + kGeluCubic * x * x * x));
}

template <class X>
TRAINYARD_HOST_DEVICE inline X gelu_slope(const X& x) {
  const auto s = sigmoid(2.0f * kGeluScale * (x + kGeluCubic * x * x * x));
  return s + 2.0f * x * s * (1.0f - s) * kGeluScale * (1.0f + 3.0f * kGeluCubic * x * x);
}

}  // namespace trainyard::executor
