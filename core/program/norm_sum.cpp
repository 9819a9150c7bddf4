#include "core/program/norm_sum.h"

#include <cmath>
#include <limits>

#include "core/error.h"

namespace trainyard {

namespace {

constexpr int kLimbBits = 32;
constexpr std::uint64_t kLimbMask = 0xffffffffU;
constexpr int kLowestExponent = -150;  // weight of bit 0
constexpr int kHighestExponent = kLowestExponent + kSumLimbs * kLimbBits;
constexpr int kMantissaBits = std::numeric_limits<double>::digits;
constexpr std::size_t kInvalidWord = kSumLimbs;

// value >> bits, to the nearest integer, ties to even. 0 < bits.
std::uint64_t round_shift(std::uint64_t value, int bits) {
  if (bits > kMantissaBits + 1) {
    return 0;
  }
  const std::uint64_t kept = value >> bits;
  const std::uint64_t rest = value & ((std::uint64_t{1} << bits) - 1);
  const std::uint64_t half = std::uint64_t{1} << (bits - 1);
  return kept + (rest > half || (rest == half && (kept & 1U) != 0) ? 1 : 0);
}

// Adds mantissa * 2^shift, in units of bit 0. Each limb gets less than 2^32.
void add_shifted(std::span<std::int64_t> words, std::uint64_t mantissa, int shift) {
  const auto limb = static_cast<std::size_t>(shift / kLimbBits);
  const int bits = shift % kLimbBits;
  const std::uint64_t low = (mantissa & kLimbMask) << bits;
  const std::uint64_t high = (mantissa >> kLimbBits) << bits;
  const std::uint64_t parts[] = {low & kLimbMask, (low >> kLimbBits) + (high & kLimbMask), high >> kLimbBits};
  for (std::size_t i = 0; i < 3 && limb + i < kSumLimbs; ++i) {
    words[limb + i] += static_cast<std::int64_t>(parts[i]);
  }
}

// 32-bit digits after carrying, lowest first. What exceeds the limbs goes to the two last digits.
constexpr std::size_t kDigits = kSumLimbs + 2;
std::array<std::uint64_t, kDigits> carried_digits(std::span<const std::int64_t> words) {
  std::array<std::uint64_t, kDigits> digits{};
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < kDigits; ++i) {
    if (i < kSumLimbs) {
      check(words[i] >= 0, "more terms than the sum's limbs hold");
      carry += static_cast<std::uint64_t>(words[i]);
    }
    digits[i] = carry & kLimbMask;
    carry >>= kLimbBits;
  }
  return digits;
}

}  // namespace

void add_term(std::span<std::int64_t> words, double term) {
  check(words.size() == kSumWords, "a sum's words");
  if (!std::isfinite(term) || term >= std::ldexp(1.0, kHighestExponent)) {
    ++words[kInvalidWord];
    return;
  }
  check(term >= 0, "terms of a sum of squares or losses are not negative");
  if (term == 0) {
    return;
  }
  int exponent = 0;
  const double fraction = std::frexp(term, &exponent);  // in [1/2, 1)
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(fraction, kMantissaBits));
  const int shift = exponent - kMantissaBits - kLowestExponent;
  if (shift >= 0) {
    add_shifted(words, mantissa, shift);
  } else {
    add_shifted(words, round_shift(mantissa, -shift), 0);
  }
}

double value(std::span<const std::int64_t> words) {
  check(words.size() == kSumWords, "a sum's words");
  if (words[kInvalidWord] != 0) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const std::array<std::uint64_t, kDigits> digits = carried_digits(words);
  std::size_t top = kDigits - 1;
  while (top > 0 && digits[top] == 0) {
    --top;
  }
  if (top < 2) {
    return std::ldexp(static_cast<double>(digits[1] << kLimbBits | digits[0]), kLowestExponent);
  }
  // The leading 64 to 33 bits, and whether anything follows them: enough to round once, to nearest even, as the
  // conversion to double does, if the tail is kept below the last bit that conversion looks at.
  const std::uint64_t leading = digits[top];
  int free_bits = 0;
  while ((leading << free_bits & std::uint64_t{1} << (kLimbBits - 1)) == 0) {
    ++free_bits;
  }
  std::uint64_t head = (leading << kLimbBits | digits[top - 1]) << free_bits;
  const std::uint64_t next = digits[top - 2] << free_bits;
  head |= next >> kLimbBits;
  bool tail = (next & kLimbMask) != 0;
  for (std::size_t i = 0; i + 2 < top; ++i) {
    tail = tail || digits[i] != 0;
  }
  head |= tail ? 1U : 0U;
  const int exponent = static_cast<int>(top - 1) * kLimbBits - free_bits + kLowestExponent;
  return std::ldexp(static_cast<double>(head), exponent);
}

double sum_of_squares(std::span<const float> block) {
  constexpr std::size_t kLanes = kNormLanes;
  std::array<double, kLanes> lanes{};
  const std::size_t whole = block.size() / kLanes * kLanes;
  for (std::size_t first = 0; first < whole; first += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double x = block[first + lane];
      lanes[lane] += x * x;
    }
  }
  for (std::size_t i = whole; i < block.size(); ++i) {
    const double x = block[i];
    lanes[i - whole] += x * x;
  }
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t lane = 0; lane < half; ++lane) {
      lanes[lane] += lanes[lane + half];
    }
  }
  return lanes[0];
}

}  // namespace trainyard
