// fp16 (IEEE 754 binary16): 5 bits of exponent, 10 of mantissa. Largest 65504, smallest normal 2^-14, smallest 2^-24.
//
//   load   exact
//   store  to the nearest, ties to even; beyond 65504 + 16 infinity; NaN stays NaN
//
// On the host by integer arithmetic without branches, so that loops over it vectorise on any CPU; on a GPU by its
// conversion instruction, which rounds the same way.
#pragma once

#include <bit>
#include <cstdint>

#include "executor/kernel/host_device.h"

namespace trainyard::executor {

struct Float16 {
  std::uint16_t bits;
};

TRAINYARD_HOST_DEVICE inline float load(const Float16* from) {
#ifdef __CUDA_ARCH__
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(from->bits));
  return value;
#else
  const std::uint32_t bits = from->bits;
  constexpr std::uint32_t kRebias = (127U - 15U) << 23U;
  const std::uint32_t exponent = bits & 0x7c00U;
  const std::uint32_t normal =
      ((bits & 0x7fffU) << 13U) + kRebias + (exponent == 0x7c00U ? kRebias : 0U);  // infinities, NaNs: up to 255
  const auto small =
      std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(bits & 0x3ffU)) * 0x1p-24F);
  return std::bit_cast<float>((exponent == 0 ? small : normal) | (bits & 0x8000U) << 16U);
#endif
}

TRAINYARD_HOST_DEVICE inline void store(Float16* to, float value) {
#ifdef __CUDA_ARCH__
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to->bits) : "f"(value));
#else
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits & 0x80000000U;
  const std::uint32_t magnitude = bits ^ sign;
  constexpr std::uint32_t kRebias = (127U - 15U) << 23U;
  // A carry out of the mantissa goes to the exponent, and from the largest to infinity.
  const std::uint32_t normal = (magnitude - kRebias + 0xfffU + ((magnitude >> 13U) & 1U)) >> 13U;
  // The lowest bit of 0.5 + x is 2^-24: the addition rounds.
  const std::uint32_t small = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000U;
  const std::uint32_t large = magnitude > 0x7f800000U ? 0x7e00U : 0x7c00U;
  const std::uint32_t below = magnitude < 0x38800000U ? small : normal;    // 2^-14
  const std::uint32_t rounded = magnitude >= 0x47800000U ? large : below;  // 2^16
  to->bits = static_cast<std::uint16_t>(rounded | sign >> 16U);
#endif
}

}  // namespace trainyard::executor
