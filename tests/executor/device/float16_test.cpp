// fp16 on every value it has, and the CPU's products and attention in it against fp64.
#include <bit>

#include "executor/device/convert.h"
#include "tests/executor/device/device_fixture.h"

namespace trainyard::executor {
namespace {

std::uint16_t rounded(float value) {
  Float16 to{};
  store(&to, value);
  return to.bits;
}

float widened(std::uint16_t bits) {
  const Float16 from{bits};
  return load(&from);
}

// IEEE 754: (-1)^s 2^(e - 15) (1 + f / 1024), with e = 0 (-1)^s 2^-14 f / 1024.
TEST(Float16, LoadsAndStoresEveryValue) {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const std::uint32_t exponent = bits >> 10U & 31U;
    const auto fraction = static_cast<float>(bits & 0x3ffU);
    const float sign = (bits & 0x8000U) != 0 ? -1.0F : 1.0F;
    const float got = widened(static_cast<std::uint16_t>(bits));
    if (exponent == 31 && fraction != 0.0F) {
      EXPECT_TRUE(std::isnan(got)) << bits;
      EXPECT_TRUE(std::isnan(widened(rounded(got)))) << bits;
      continue;
    }
    const float expected = exponent == 31  ? sign * std::numeric_limits<float>::infinity()
                           : exponent == 0 ? sign * std::ldexp(fraction, -24)
                                           : sign * std::ldexp(1024.0F + fraction, static_cast<int>(exponent) - 25);
    ASSERT_EQ(got, expected) << bits;
    ASSERT_EQ(std::signbit(got), sign < 0) << bits;
    ASSERT_EQ(rounded(got), bits);
  }
}

// Between two neighbours: the middle goes to the even one, what is off it by the smallest step to the nearer one. The
// middle between the largest, 65504, and what would follow, 65536, goes to infinity.
TEST(Float16, RoundsToTheNearestWithTiesToEvenBetweenAllValues) {
  for (std::uint32_t bits = 0; bits < 0x7c00U; ++bits) {
    const float low = widened(static_cast<std::uint16_t>(bits));
    const float high = bits == 0x7bffU ? 65536.0F : widened(static_cast<std::uint16_t>(bits + 1));
    const float middle = low + (high - low) / 2;  // exact in fp32
    ASSERT_EQ(rounded(middle), bits + (bits & 1U)) << bits;
    ASSERT_EQ(rounded(std::nextafter(middle, 0.0F)), bits) << bits;
    ASSERT_EQ(rounded(std::nextafter(middle, 1e9F)), bits + 1) << bits;
    ASSERT_EQ(rounded(-middle), 0x8000U + bits + (bits & 1U)) << bits;
  }
  EXPECT_EQ(rounded(1e30F), 0x7c00);
  EXPECT_EQ(rounded(-std::numeric_limits<float>::infinity()), 0xfc00);
  EXPECT_EQ(rounded(1e-30F), 0);
  EXPECT_EQ(rounded(std::bit_cast<float>(1U)), 0);
}

std::vector<double> fp16_values(std::int64_t count, unsigned seed) {
  std::vector<double> values = normal_values(count, seed);
  for (double& value : values) {
    value = widened(rounded(static_cast<float>(value)));
  }
  return values;
}

class Fp16Arrays : public DeviceArrays {
 public:
  using DeviceArrays::DeviceArrays;
  Float16* put(const std::vector<double>& values) {
    const std::vector<float> wide(values.begin(), values.end());
    std::vector<Float16> narrow_values(values.size());
    narrow(wide.data(), narrow_values.data(), static_cast<std::int64_t>(wide.size()));
    return upload(narrow_values);
  }
  std::vector<float> get(const Float16* memory, std::int64_t count) {
    const std::vector<Float16> values = download(memory, count);
    std::vector<float> wide(values.size());
    widen(values.data(), wide.data(), count);
    return wide;
  }
};

TEST(Fp16Matmul, EqualsThePlainSumIntoBothTypes) {
  constexpr double kHalfUlp = 0x1p-11;
  for (const Transpose transpose : {Transpose::kNN, Transpose::kNT, Transpose::kTN}) {
    const std::int64_t m = 700, n = 37, k = 1100;  // more rows and terms than are widened at once
    Gemm gemm{.m = m, .n = n, .k = k, .type = DataType::kFp16, .transpose = transpose};
    Fp16Arrays device(2);
    const auto a = fp16_values(m * k, 1), b = fp16_values(k * n, 2), before = fp16_values(m * n, 3);
    const Float16 *da = device.put(a), *db = device.put(b);
    auto expected = reference::matmul(transpose, m, n, k, a, b);
    const double rounding = 4e-6 * std::sqrt(static_cast<double>(k));  // of fp32 sums
    Float16* c = device.put(before);
    device->matmul(Stream::kCompute, gemm, da, db, c, {});
    expect_close(device.get(c, m * n), expected, kHalfUlp, rounding);
    gemm.accumulate = true;
    float* sum = device.upload(before);
    device->matmul(Stream::kCompute, gemm, da, db, sum, {});
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expected[i] += before[i];
    }
    expect_close(device.download(sum, m * n), expected, 1e-5, rounding);
  }
}

TEST(Fp16Attention, ForwardAndBackwardEqualTheReference) {
  Attention a{.sequences = 2, .query_heads = 4, .key_heads = 2, .queries = 70, .keys = 70, .head_size = 16};
  a.query_tile = 16;
  a.type = DataType::kFp16;
  Attention back = a;
  back.pass = AttentionPass::kBackward;
  const std::int64_t tokens = 140, qkv_size = tokens * 8 * 16, out_size = tokens * 4 * 16;
  const auto qkv = fp16_values(qkv_size, 1), out_grad = fp16_values(out_size, 2);
  Fp16Arrays device;
  Float16 *dqkv = device.put(qkv), *out = device.put(out_grad), *grad = device.put(qkv);
  float* log_sum_exp = device.unwritten(tokens * 4);
  device->attention_forward(Stream::kCompute, a, dqkv, out, log_sum_exp);
  // Transformer Engine's tests of fp16: relative 1e-3, absolute 1e-5.
  expect_close(device.get(out, out_size), reference::attention_forward(a, qkv).out, 1e-3, 1e-5);
  device->attention_backward(Stream::kCompute, back, dqkv, out, log_sum_exp, device.put(out_grad), grad);
  // The rounded output enters as dot(out_grad, out): 16 products of half a unit in the last place each.
  expect_close(device.get(grad, qkv_size), reference::attention_backward(a, qkv, out_grad), 2e-3, 2e-3);
}

}  // namespace
}  // namespace trainyard::executor
