#include "simulator/failure/float_format.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"

namespace trainyard::simulator {
namespace {

struct Fields {
  std::uint64_t exponent_ones;  // largest exponent field
  std::uint64_t mantissa_ones;
  int bias;
};

Fields fields_of(const FloatFormat& format) {
  return {(std::uint64_t{1} << format.exponent_bits) - 1, (std::uint64_t{1} << format.mantissa_bits) - 1,
          (1 << (format.exponent_bits - 1)) - 1};
}

// Magnitude bits of the largest finite number.
std::uint64_t largest_bits(const FloatFormat& format, const Fields& fields) {
  const std::uint64_t all = fields.exponent_ones << format.mantissa_bits | fields.mantissa_ones;
  if (format.infinities) {
    return (fields.exponent_ones << format.mantissa_bits) - 1;
  }
  return format.nan_all_ones ? all - 1 : all;
}

}  // namespace

FloatFormat float_format(DataType type) {
  switch (type) {
    case DataType::kFp64:
      return {11, 52, true, false};
    case DataType::kFp32:
    case DataType::kTf32:
      return {8, 23, true, false};
    case DataType::kFp16:
      return {5, 10, true, false};
    case DataType::kBf16:
      return {8, 7, true, false};
    case DataType::kFp8:
    case DataType::kMxFp8:
      return {4, 3, false, true};
    case DataType::kNvFp4:
      return {2, 1, false, false};
    case DataType::kInt32:
    case DataType::kInt64:
      break;
  }
  check(false, "a floating-point type has a format");
  return {};
}

double decode(const FloatFormat& format, std::uint64_t bits) {
  const Fields fields = fields_of(format);
  const std::uint64_t mantissa = bits & fields.mantissa_ones;
  const std::uint64_t exponent = bits >> format.mantissa_bits & fields.exponent_ones;
  const bool negative = (bits >> (format.bits() - 1) & 1) != 0;
  double value = 0.0;
  if (exponent == fields.exponent_ones && format.infinities) {
    value = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == fields.exponent_ones && format.nan_all_ones && mantissa == fields.mantissa_ones) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<double>(mantissa), 1 - fields.bias - format.mantissa_bits);
  } else {
    value = std::ldexp(static_cast<double>(mantissa | (fields.mantissa_ones + 1)),
                       static_cast<int>(exponent) - fields.bias - format.mantissa_bits);
  }
  return negative ? -value : value;
}

std::uint64_t encode(const FloatFormat& format, double value) {
  const Fields fields = fields_of(format);
  const std::uint64_t sign = std::signbit(value) ? std::uint64_t{1} << (format.bits() - 1) : 0;
  const double magnitude = std::abs(value);
  if (magnitude == 0.0) {
    return sign;
  }
  const int exponent = std::max(std::ilogb(magnitude), 1 - fields.bias);
  // In units of the last place; a carry into the next power of two is right by itself in the bits.
  const double units = std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
  const auto mantissa = static_cast<std::uint64_t>(units);
  const std::uint64_t hidden = fields.mantissa_ones + 1;
  const int biased = exponent + fields.bias;
  const auto field = static_cast<std::uint64_t>(biased);
  const std::uint64_t bits = mantissa >= hidden ? (field << format.mantissa_bits) + (mantissa - hidden) : mantissa;
  return sign | std::min(bits, largest_bits(format, fields));
}

}  // namespace trainyard::simulator
