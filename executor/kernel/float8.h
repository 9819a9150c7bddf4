// fp8 (Micikevicius et al. 2022, "FP8 formats for deep learning"; OCP 8-bit floating point 1.0), and the scale that
// brings a tensor into its range.
//
//   e4m3  4 bits of exponent, 3 of mantissa, largest 448, smallest 2^-9, no infinity: for weights and activations
//   e5m2  5 bits of exponent, 2 of mantissa, largest 57344, smallest 2^-16: for gradients
//
//   store  to the nearest, ties to even; beyond the largest the largest; NaN stays NaN
//   load   exact
//   scale  the largest power of two that leaves all of the tensor within the format ("current scaling", as NVIDIA's
//          Transformer Engine calls it when the scale is of the tensor itself). A power of two: scaling rounds nothing,
//          so that the CPU, which multiplies what was rounded in bf16 (it holds every fp8 value times the scale), and a
//          GPU, which scales the product, multiply the same numbers.
#pragma once

#include <bit>
#include <cstdint>

#include "executor/kernel/host_device.h"

namespace trainyard::executor {

// GPUs have it from this compute capability on: Ada's 8.9. Hopper is 90.
constexpr int kFirstWithFp8 = 89;

struct Float8E4M3 {
  std::uint8_t bits;
  static constexpr float kLargest = 448.0F;
};
struct Float8E5M2 {
  std::uint8_t bits;
  static constexpr float kLargest = 57344.0F;
};

// Mantissa bits of mantissa, exponents biased by Bias; Highest: the code of the largest number.
template <int Mantissa, int Bias, std::uint32_t Highest>
TRAINYARD_HOST_DEVICE inline std::uint8_t encode_float8(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits & 0x80000000U;
  const std::uint32_t magnitude = bits ^ sign;
  constexpr std::uint32_t kShift = 23U - Mantissa;
  constexpr std::uint32_t kRebias = (127U - Bias) << 23U;
  const std::uint32_t normal =
      (magnitude - kRebias + ((1U << (kShift - 1U)) - 1U) + ((magnitude >> kShift) & 1U)) >> kShift;
  // The lowest bit of kRounder + x is that of the format's smallest numbers: the addition rounds.
  constexpr std::uint32_t kRounder = (127U + 1U - Bias - Mantissa + 23U) << 23U;
  const std::uint32_t small =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + std::bit_cast<float>(kRounder)) - kRounder;
  constexpr std::uint32_t kSmallestNormal = kRebias + (1U << 23U);
  const std::uint32_t rounded = magnitude < kSmallestNormal ? small : normal;
  const std::uint32_t within = rounded < Highest ? rounded : Highest;
  return static_cast<std::uint8_t>((magnitude > 0x7f800000U ? 0x7fU : within) | sign >> 24U);
}

template <int Mantissa, int Bias>
TRAINYARD_HOST_DEVICE inline float decode_float8(std::uint8_t code) {
  const std::uint32_t magnitude = code & 0x7fU;
  constexpr std::uint32_t kShift = 23U - Mantissa;
  constexpr std::uint32_t kRebias = (127U - Bias) << 23U;
  constexpr float kSmallest = std::bit_cast<float>((127U + 1U - Bias - Mantissa) << 23U);
  const auto small = std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(magnitude)) * kSmallest);
  const std::uint32_t finite = magnitude >> Mantissa == 0 ? small : (magnitude << kShift) + kRebias;
  return std::bit_cast<float>(finite | static_cast<std::uint32_t>(code & 0x80U) << 24U);
}

// A GPU converts two at once, of which the other is 0; rounding and saturation are the same.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
static_assert(__CUDA_ARCH__ >= 10 * kFirstWithFp8, "the preprocessor asks for what kFirstWithFp8 says");
TRAINYARD_HOST_DEVICE inline void store(Float8E4M3* to, float value) {
  std::uint16_t pair;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0F), "f"(value));
  to->bits = static_cast<std::uint8_t>(pair);
}
TRAINYARD_HOST_DEVICE inline void store(Float8E5M2* to, float value) {
  std::uint16_t pair;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0F), "f"(value));
  to->bits = static_cast<std::uint8_t>(pair);
}
#else
TRAINYARD_HOST_DEVICE inline void store(Float8E4M3* to, float value) { to->bits = encode_float8<3, 7, 0x7eU>(value); }
TRAINYARD_HOST_DEVICE inline void store(Float8E5M2* to, float value) { to->bits = encode_float8<2, 15, 0x7bU>(value); }
#endif

TRAINYARD_HOST_DEVICE inline float load(const Float8E4M3* from) {
  const float value = decode_float8<3, 7>(from->bits);
  return (from->bits & 0x7fU) == 0x7fU ? std::bit_cast<float>(0x7fc00000U) : value;
}
TRAINYARD_HOST_DEVICE inline float load(const Float8E5M2* from) {
  const auto value = std::bit_cast<std::uint32_t>(decode_float8<2, 15>(from->bits));
  // Exponent 31: infinity and NaN, which have 255.
  const bool beyond = (from->bits & 0x7cU) == 0x7cU;
  return std::bit_cast<float>(beyond ? value | 0x7f800000U : value);
}

// The bits of |x|: as integers they are ordered as the numbers are, infinity and NaN last.
TRAINYARD_HOST_DEVICE inline std::uint32_t magnitude_bits(float x) {
  return std::bit_cast<std::uint32_t>(x) & 0x7fffffffU;
}

// What a tensor whose largest magnitude has these bits is multiplied by. One that is all 0: 1; one with an element that
// is not finite: NaN, which all of it becomes rather than hide it.
template <class F>
TRAINYARD_HOST_DEVICE inline float float8_scale(std::uint32_t largest) {
  if (largest == 0) {
    return 1.0F;
  }
  if (largest >= 0x7f800000U) {
    return std::bit_cast<float>(0x7fc00000U);
  }
  const float ratio = F::kLargest / std::bit_cast<float>(largest);
  constexpr float kMost = 0x1p100F;  // its inverse is a normal number too
  return ratio < kMost ? std::bit_cast<float>(std::bit_cast<std::uint32_t>(ratio) & 0x7f800000U) : kMost;
}

}  // namespace trainyard::executor
