// Floating-point formats as bits: what a flipped bit does to a number.
//
//   value = (-1)^s 2^(e - bias) (1 + f / 2^m), e = 0 subnormal; bias = 2^(exponent bits - 1) - 1
//   infinities: the top exponent means Inf and NaN (IEEE). Without, e4m3 has NaN at all ones alone, e2m1 has none.
//
// Sources: IEEE 754-2019; OCP 8-bit Floating Point (E4M3, E5M2) 2023; OCP Microscaling 1.0 (E2M1).
#pragma once

#include <cstdint>

#include "core/program/data_type.h"

namespace trainyard::simulator {

struct FloatFormat {
  int exponent_bits = 8;
  int mantissa_bits = 23;
  bool infinities = true;
  bool nan_all_ones = false;  // with no infinities: all ones is NaN
  constexpr int bits() const { return 1 + exponent_bits + mantissa_bits; }
};

constexpr FloatFormat kE5m2 = {5, 2, true, false};

// Of one stored element; fp8 is E4M3 (E5M2 has to be named). check()s that it is a floating-point type.
FloatFormat float_format(DataType type);

double decode(const FloatFormat& format, std::uint64_t bits);
std::uint64_t encode(const FloatFormat& format, double value);  // nearest; the largest finite where larger

}  // namespace trainyard::simulator
