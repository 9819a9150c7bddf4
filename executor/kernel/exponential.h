// exp(x) in single precision, without branches or calls so that loops over it vectorise.
//
//   n = round(x / ln 2), r = x - n ln 2 (in two steps), |r| <= 0.347,  exp(x) = 2^n p(r)
//
// p is the minimax polynomial of degree 6 from Cephes' expf (S. Moshier, netlib.org/cephes). Error at most
// 2 ulp for x in [-87.33, 88.37] (tests/executor/device/exponential_test.cpp walks the range). Below:
// 0, so that a masked score (-inf) has no weight. Above: +infinity. NaN stays NaN.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "executor/kernel/host_device.h"

namespace trainyard::executor {

constexpr float kExponentialLowest = -87.33f;  // exp of it is just above the smallest normal number
constexpr float kExponentialHighest = 88.37f;  // n stays at most 127

TRAINYARD_HOST_DEVICE inline float exponential(float x) {
  constexpr float kLog2E = 1.44269504088896341f;
  constexpr float kLn2High = 0.693359375f;
  constexpr float kLn2Low = -2.12194440e-4f;
  // Adding 1.5 * 2^23 leaves round(x / ln 2) in the low bits of the sum.
  constexpr float kRounder = 12582912.0f;
  const float shifted = x * kLog2E + kRounder;
  const float n = shifted - kRounder;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  const auto power = (std::bit_cast<std::uint32_t>(shifted) << 23) + 0x3f800000u;
  const float result = p * std::bit_cast<float>(power);
  const float floored = x < kExponentialLowest ? 0.0f : result;
  return x > kExponentialHighest ? std::numeric_limits<float>::infinity() : floored;
}

TRAINYARD_HOST_DEVICE inline float sigmoid(float x) { return 1.0f / (1.0f + exponential(-x)); }

}  // namespace trainyard::executor
