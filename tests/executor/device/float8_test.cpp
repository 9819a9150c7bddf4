// fp8: every code of both formats, rounding between all neighbours, the scale of a tensor; and the CPU's products in it
// against sums in fp64 of numbers rounded here by search.
#include <algorithm>
#include <bit>
#include <limits>

#include "executor/device/convert.h"
#include "executor/kernel/float8.h"
#include "tests/executor/device/device_fixture.h"

namespace trainyard::executor {
namespace {

template <class F>
float decoded(std::uint32_t code) {
  const F from{static_cast<std::uint8_t>(code)};
  return load(&from);
}
template <class F>
std::uint32_t encoded(float value) {
  F to{};
  store(&to, value);
  return to.bits;
}

// Micikevicius et al. 2022, table 1: exponent bias 7, 3 bits of mantissa; S.1111.111 is the only NaN, no infinity.
float e4m3(std::uint32_t code) {
  const int exponent = static_cast<int>(code >> 3U & 15U);
  const auto fraction = static_cast<float>(code & 7U);
  const float magnitude = exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8.0F + fraction, exponent - 10);
  return code >= 0x80U ? -magnitude : magnitude;
}
// Bias 15, 2 bits of mantissa; S.11111.00 infinity, the rest of that exponent NaN.
float e5m2(std::uint32_t code) {
  const int exponent = static_cast<int>(code >> 2U & 31U);
  const auto fraction = static_cast<float>(code & 3U);
  const float magnitude = exponent == 31  ? std::numeric_limits<float>::infinity()
                          : exponent == 0 ? std::ldexp(fraction, -16)
                                          : std::ldexp(4.0F + fraction, exponent - 17);
  return code >= 0x80U ? -magnitude : magnitude;
}

TEST(Float8, E4m3LoadsAndStoresAll256Codes) {
  for (std::uint32_t code = 0; code < 256; ++code) {
    if ((code & 0x7fU) == 0x7fU) {
      EXPECT_TRUE(std::isnan(decoded<Float8E4M3>(code)));
      continue;
    }
    EXPECT_EQ(decoded<Float8E4M3>(code), e4m3(code)) << code;
    EXPECT_EQ(encoded<Float8E4M3>(e4m3(code)), code);
  }
  EXPECT_EQ(decoded<Float8E4M3>(0x7eU), 448.0F);
  EXPECT_EQ(decoded<Float8E4M3>(0x01U), 0x1p-9F);
}

TEST(Float8, E5m2LoadsAndStoresAll256Codes) {
  for (std::uint32_t code = 0; code < 256; ++code) {
    if ((code & 0x7fU) > 0x7cU) {
      EXPECT_TRUE(std::isnan(decoded<Float8E5M2>(code)));
      continue;
    }
    EXPECT_EQ(decoded<Float8E5M2>(code), e5m2(code)) << code;
    EXPECT_EQ(encoded<Float8E5M2>(e5m2(code)), (code & 0x7fU) == 0x7cU ? code - 1 : code);  // infinity: the largest
  }
  EXPECT_EQ(decoded<Float8E5M2>(0x7bU), 57344.0F);
  EXPECT_EQ(decoded<Float8E5M2>(0x01U), 0x1p-16F);
}

template <class F>
void expect_nearest(std::uint32_t highest) {
  for (std::uint32_t code = 0; code < highest; ++code) {
    const float low = decoded<F>(code), high = decoded<F>(code + 1), middle = low + (high - low) / 2;
    ASSERT_EQ(encoded<F>(middle), code + (code & 1U)) << code;
    ASSERT_EQ(encoded<F>(std::nextafter(middle, 0.0F)), code) << code;
    ASSERT_EQ(encoded<F>(std::nextafter(middle, 1e9F)), code + 1) << code;
    ASSERT_EQ(encoded<F>(-middle), 0x80U + code + (code & 1U)) << code;
  }
  EXPECT_EQ(encoded<F>(std::nextafter(F::kLargest, 1e9F)), highest);
  EXPECT_EQ(encoded<F>(1e30F), highest);
  EXPECT_EQ(encoded<F>(-std::numeric_limits<float>::infinity()), 0x80U + highest);
  EXPECT_EQ(encoded<F>(1e-30F), 0U);
  EXPECT_EQ(encoded<F>(std::nanf("")) & 0x7fU, 0x7fU);
}

TEST(Float8, RoundsToTheNearestWithTiesToEvenAndSaturates) {
  expect_nearest<Float8E4M3>(0x7eU);
  expect_nearest<Float8E5M2>(0x7bU);
}

// The largest power of two that leaves the largest element within the format.
TEST(Float8, TheScaleIsTheLargestPowerOfTwoThatFits) {
  const auto scale = [](float largest) { return float8_scale<Float8E4M3>(std::bit_cast<std::uint32_t>(largest)); };
  EXPECT_EQ(scale(448.0F), 1.0F);
  EXPECT_EQ(scale(449.0F), 0.5F);
  EXPECT_EQ(scale(224.0F), 2.0F);
  EXPECT_EQ(scale(1.0F), 256.0F);
  EXPECT_EQ(scale(0.0F), 1.0F);
  EXPECT_EQ(scale(1e-38F), 0x1p100F);
  EXPECT_EQ(scale(3e38F), 0x1p-120F);
  EXPECT_TRUE(std::isnan(scale(std::numeric_limits<float>::infinity())));
  EXPECT_TRUE(std::isnan(scale(std::nanf(""))));
  EXPECT_EQ(float8_scale<Float8E5M2>(std::bit_cast<std::uint32_t>(1.0F)), 32768.0F);
}

// The nearest of all codes' values at the tensor's scale; of two as near the one with the even code.
template <class F>
std::vector<double> nearest(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) {
    largest = std::max(largest, std::abs(value));
  }
  const double scale = std::exp2(std::floor(std::log2(static_cast<double>(F::kLargest) / largest)));
  std::vector<double> result;
  for (const double value : values) {
    double best = std::numeric_limits<double>::infinity();
    for (std::uint32_t code = 0; code < 256; ++code) {
      const double candidate = static_cast<double>(decoded<F>(code)) / scale;
      const double off = std::abs(candidate - value), best_off = std::abs(best - value);
      best = std::isfinite(candidate) && (off < best_off || (off == best_off && code % 2 == 0)) ? candidate : best;
    }
    result.push_back(best);
  }
  return result;
}

TEST(Fp8Matmul, MultipliesItsOperandsRoundedToFp8) {
  for (const Transpose transpose : {Transpose::kNN, Transpose::kNT, Transpose::kTN}) {
    for (const GradientOperand gradient : {GradientOperand::kNone, GradientOperand::kA, GradientOperand::kB}) {
      const std::int64_t m = 37, n = 53, k = 70;
      DeviceArrays device(2);
      const auto bf16 = [&](std::int64_t count, unsigned seed, double deviation) {
        const auto values = normal_values(count, seed, deviation);
        const std::vector<float> wide(values.begin(), values.end());
        std::vector<Bfloat16> narrowed(wide.size());
        narrow(wide.data(), narrowed.data(), count);
        return narrowed;
      };
      const auto doubles = [](const std::vector<Bfloat16>& values) {
        std::vector<double> wide;
        for (const Bfloat16& value : values) {
          wide.push_back(load(&value));
        }
        return wide;
      };
      const auto a = bf16(m * k, 1, 1e-3), b = bf16(k * n, 2, 7.0);
      const auto expected = reference::matmul(
          transpose, m, n, k, (gradient == GradientOperand::kA ? nearest<Float8E5M2> : nearest<Float8E4M3>)(doubles(a)),
          (gradient == GradientOperand::kB ? nearest<Float8E5M2> : nearest<Float8E4M3>)(doubles(b)));
      float* c = device.unwritten(m * n);
      const Gemm gemm{.m = m, .n = n, .k = k, .type = DataType::kFp8, .transpose = transpose, .gradient = gradient};
      device->matmul(Stream::kCompute, gemm, device.upload(a), device.upload(b), c, {});
      expect_close(device.download(c, m * n), expected, 1e-5, 7e-3 * 4e-6 * std::sqrt(static_cast<double>(k)));
      EXPECT_EQ(device->counters().flops.value(), 2 * m * n * k);
    }
  }
}

// What is not a number is not lost in the rounding.
TEST(Fp8Matmul, OneInfinityMakesTheProductNoNumber) {
  DeviceArrays device;
  std::vector<float> values(16 * 16, 1.0F);
  values[7] = std::numeric_limits<float>::infinity();
  std::vector<Bfloat16> a(values.size());
  narrow(values.data(), a.data(), 256);
  float* c = device.unwritten(256);
  const Gemm gemm{.m = 16, .n = 16, .k = 16, .type = DataType::kFp8};
  device->matmul(Stream::kCompute, gemm, device.upload(a), device.upload(a), c, {});
  for (const float value : device.download(c, 256)) {
    EXPECT_TRUE(std::isnan(value));
  }
}

}  // namespace
}  // namespace trainyard::executor
