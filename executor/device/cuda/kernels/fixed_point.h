// core/program/norm_sum.h's accumulator on a GPU: the same words, bit for bit (tests compare them).
//
// A term goes to at most three of the words, by integer additions, which give the same sum in any order.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/program/norm_sum.h"
#include "executor/kernel/host_device.h"

namespace trainyard::executor {

// add(word, value) adds an integer to a word. term >= 0, or not finite.
template <class Add>
TRAINYARD_HOST_DEVICE inline void add_fixed_point(double term, const Add& add) {
  constexpr int kLimbBits = 32;
  constexpr int kLowest = -150;
  constexpr int kMantissaBits = 52;
  constexpr int kBias = 1023;
  const auto bits = std::bit_cast<std::uint64_t>(term) & 0x7fffffffffffffffULL;
  const int exponent = static_cast<int>(bits >> kMantissaBits) - kBias;  // 2^exponent <= term
  if (exponent >= kLowest + kSumLimbs * kLimbBits) {                     // infinities and NaNs as well
    add(kSumLimbs, std::int64_t{1});
    return;
  }
  if (exponent == -kBias) {  // zero, or far below the lowest bit
    return;
  }
  std::uint64_t mantissa = (bits & ((std::uint64_t{1} << kMantissaBits) - 1)) | std::uint64_t{1} << kMantissaBits;
  int shift = exponent - kMantissaBits - kLowest;
  if (shift < 0) {  // to the nearest multiple of the lowest bit, ties to even
    if (-shift > kMantissaBits + 2) {
      return;
    }
    const std::uint64_t kept = mantissa >> -shift;
    const std::uint64_t rest = mantissa & ((std::uint64_t{1} << -shift) - 1);
    const std::uint64_t half = std::uint64_t{1} << (-shift - 1);
    mantissa = kept + (rest > half || (rest == half && (kept & 1U) != 0) ? 1 : 0);
    shift = 0;
  }
  const int limb = shift / kLimbBits;
  const int within = shift % kLimbBits;
  const std::uint64_t low = (mantissa & 0xffffffffU) << within;
  const std::uint64_t high = (mantissa >> kLimbBits) << within;
  const std::uint64_t parts[3] = {low & 0xffffffffU, (low >> kLimbBits) + (high & 0xffffffffU), high >> kLimbBits};
  for (int i = 0; i < 3 && limb + i < kSumLimbs; ++i) {
    if (parts[i] != 0) {
      add(limb + i, static_cast<std::int64_t>(parts[i]));
    }
  }
}

// The accumulated value, rounded once to double; NaN where a term was not finite or a word ran over.
TRAINYARD_HOST_DEVICE inline double fixed_point_value(const std::int64_t* words) {
  constexpr int kLimbBits = 32;
  constexpr int kLowest = -150;
  constexpr int kDigits = kSumLimbs + 2;
  std::uint64_t digits[kDigits];
  std::uint64_t carry = 0;
  bool valid = words[kSumLimbs] == 0;
  for (int i = 0; i < kDigits; ++i) {
    if (i < kSumLimbs) {
      valid = valid && words[i] >= 0;
      carry += static_cast<std::uint64_t>(words[i]);
    }
    digits[i] = carry & 0xffffffffU;
    carry >>= kLimbBits;
  }
  if (!valid) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  int top = kDigits - 1;
  while (top > 1 && digits[top] == 0) {
    --top;
  }
  if (top < 2) {
    return std::ldexp(static_cast<double>(digits[1] << kLimbBits | digits[0]), kLowest);
  }
  // 64 bits from the leading one; what follows them only breaks ties, so it is kept as the lowest bit.
  int free_bits = 0;
  while ((digits[top] << free_bits & std::uint64_t{1} << (kLimbBits - 1)) == 0) {
    ++free_bits;
  }
  const std::uint64_t next = digits[top - 2] << free_bits;
  std::uint64_t head = (digits[top] << kLimbBits | digits[top - 1]) << free_bits | next >> kLimbBits;
  bool tail = (next & 0xffffffffU) != 0;
  for (int i = 0; i + 2 < top; ++i) {
    tail = tail || digits[i] != 0;
  }
  head |= tail ? 1U : 0U;
  return std::ldexp(static_cast<double>(head), (top - 1) * kLimbBits - free_bits + kLowest);
}

}  // namespace trainyard::executor
