// Kernels on bf16 against the fp64 reference of the same, rounded, inputs. Tolerances of Transformer Engine's tests:
// relative 1.6e-2, absolute 1e-5, where the result is of the inputs' size; results that sum with cancellation get an
// absolute part of the summands' size.
#include <bit>
#include <cstring>

#include "core/program/norm_sum.h"
#include "executor/device/bf16_product.h"
#include "executor/device/convert.h"
#include "tests/executor/device/device_fixture.h"

namespace trainyard::executor {
namespace {

constexpr double kRelative = 1.6e-2;
constexpr double kAbsolute = 1e-5;
constexpr double kHalfUlp = 1.0 / 256.0;  // of a bf16 value, relative

// Values that bf16 holds exactly.
std::vector<double> bf16_values(std::int64_t count, unsigned seed, double deviation = 1.0) {
  std::vector<double> values = normal_values(count, seed, deviation);
  for (double& value : values) {
    Bfloat16 rounded{};
    store(&rounded, static_cast<float>(value));
    value = load(&rounded);
  }
  return values;
}

class Bf16Arrays : public DeviceArrays {
 public:
  using DeviceArrays::DeviceArrays;
  Bfloat16* put(const std::vector<double>& values) {
    const std::vector<float> wide(values.begin(), values.end());
    std::vector<Bfloat16> narrow_values(values.size());
    narrow(wide.data(), narrow_values.data(), static_cast<std::int64_t>(wide.size()));
    return upload(narrow_values);
  }
  Bfloat16* nothing(std::int64_t count) { return put(std::vector<double>(static_cast<std::size_t>(count), NAN)); }
  std::vector<float> get(const Bfloat16* memory, std::int64_t count) {
    const std::vector<Bfloat16> values = download(memory, count);
    std::vector<float> wide(values.size());
    widen(values.data(), wide.data(), count);
    return wide;
  }
};

TEST(Bfloat16, RoundsToTheNearestWithTiesToEven) {
  const auto rounded = [](std::uint32_t bits) {
    Bfloat16 to{};
    store(&to, std::bit_cast<float>(bits));
    return to.bits;
  };
  EXPECT_EQ(rounded(0x3f800000), 0x3f80);  // 1
  EXPECT_EQ(rounded(0x3f808000), 0x3f80);  // halfway: to even, down
  EXPECT_EQ(rounded(0x3f818000), 0x3f82);  // halfway: to even, up
  EXPECT_EQ(rounded(0x3f808001), 0x3f81);
  EXPECT_EQ(rounded(0x7f7fffff), 0x7f80);  // above the largest: infinity
  EXPECT_EQ(rounded(0xff800000), 0xff80);  // -infinity
  EXPECT_EQ(rounded(0x00000001), 0x0000);
}

TEST(Bfloat16, NotANumberStaysSo) {
  for (const std::uint32_t bits : {0x7f800001U, 0x7fffffffU, 0xffffffffU, 0xff80ffffU}) {
    Bfloat16 to{};
    store(&to, std::bit_cast<float>(bits));
    EXPECT_TRUE(std::isnan(load(&to))) << bits;
  }
}

TEST(Bfloat16, ArraysConvertAsElementsDo) {
  const std::vector<double> values = normal_values(1003, 1);
  const std::vector<float> wide(values.begin(), values.end());
  std::vector<Bfloat16> narrowed(wide.size());
  narrow(wide.data(), narrowed.data(), 1003);
  std::vector<float> back(wide.size());
  widen(narrowed.data(), back.data(), 1003);
  for (std::size_t i = 0; i < wide.size(); ++i) {
    Bfloat16 expected{};
    store(&expected, wide[i]);
    ASSERT_EQ(narrowed[i].bits, expected.bits);
    ASSERT_EQ(back[i], load(&expected));
  }
}

// --- Products -----------------------------------------------------------------------------------------------

struct ProductCase {
  Transpose transpose;
  std::int64_t m, n, k;
};
const ProductCase kProducts[] = {{Transpose::kNN, 37, 53, 61},
                                 {Transpose::kNT, 37, 53, 61},
                                 {Transpose::kTN, 37, 53, 61},
                                 {Transpose::kNN, 16, 1111, 9},
                                 {Transpose::kNT, 1100, 33, 20},
                                 {Transpose::kTN, 64, 1024, 128},
                                 // More rows and terms than are widened at once.
                                 {Transpose::kNN, 700, 20, 1100},
                                 {Transpose::kNT, 700, 20, 1100},
                                 {Transpose::kTN, 530, 20, 1030}};

Gemm gemm_of(const ProductCase& p, bool accumulate) {
  Gemm gemm;
  gemm.m = p.m;
  gemm.n = p.n;
  gemm.k = p.k;
  gemm.transpose = p.transpose;
  gemm.type = DataType::kBf16;
  gemm.accumulate = accumulate;
  return gemm;
}

// The widened path anywhere; the native one where the CPU has it.
std::vector<CpuDeviceOptions> both_paths() {
  return {{.threads = 1, .bf16 = Bf16Path::kWidened}, {.threads = 2, .bf16 = Bf16Path::kNative}};
}

TEST(Bf16Matmul, EqualsThePlainSumByBothPathsIntoBothTypes) {
  for (const CpuDeviceOptions& options : both_paths()) {
    for (const ProductCase& p : kProducts) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(options.bf16) << ": " << static_cast<int>(p.transpose) << " "
                                      << p.m << " " << p.n << " " << p.k);
      Bf16Arrays device(options);
      const auto a = bf16_values(p.m * p.k, 1), b = bf16_values(p.k * p.n, 2), before = bf16_values(p.m * p.n, 3);
      const auto bias = bf16_values(p.n, 4);
      const Bfloat16 *da = device.put(a), *db = device.put(b), *dbias = device.put(bias);
      const auto expected = reference::matmul(p.transpose, p.m, p.n, p.k, a, b);
      std::vector<double> added = expected, biased = expected;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        added[i] += before[i];
        biased[i] += bias[i % static_cast<std::size_t>(p.n)];
      }
      const double rounding = 4e-6 * std::sqrt(static_cast<double>(p.k));  // of fp32 sums
      float* wide = device.unwritten(p.m * p.n);
      device->matmul(Stream::kCompute, gemm_of(p, false), da, db, wide, {});
      expect_close(device.download(wide, p.m * p.n), expected, 1e-5, rounding);
      Bfloat16* narrowed = device.nothing(p.m * p.n);
      device->matmul(Stream::kCompute, gemm_of(p, false), da, db, narrowed, {});
      expect_close(device.get(narrowed, p.m * p.n), expected, kHalfUlp, rounding);
      device->matmul(Stream::kCompute, gemm_of(p, false), da, db, narrowed, dbias);
      expect_close(device.get(narrowed, p.m * p.n), biased, kHalfUlp, rounding);
      float* sum = device.upload(before);
      device->matmul(Stream::kCompute, gemm_of(p, true), da, db, sum, {});
      expect_close(device.download(sum, p.m * p.n), added, 1e-5, rounding);
      Bfloat16* narrow_sum = device.put(before);
      device->matmul(Stream::kCompute, gemm_of(p, true), da, db, narrow_sum, {});
      expect_close(device.get(narrow_sum, p.m * p.n), added, kHalfUlp, rounding);
      EXPECT_EQ(device->counters().flops.value(), 5 * 2 * p.m * p.n * p.k);
    }
  }
}

TEST(Bf16Matmul, ThreadsDoNotChangeABit) {
  for (const Bf16Path path : {Bf16Path::kWidened, Bf16Path::kNative}) {
    std::vector<float> results[2];
    for (const int threads : {1, 2}) {
      Bf16Arrays device(CpuDeviceOptions{.threads = threads, .bf16 = path});
      const ProductCase p{Transpose::kNT, 300, 2100, 70};
      Bfloat16* c = device.nothing(p.m * p.n);
      device->matmul(Stream::kCompute, gemm_of(p, false), device.put(bf16_values(p.m * p.k, 1)),
                     device.put(bf16_values(p.k * p.n, 2)), c, {});
      results[threads - 1] = device.get(c, p.m * p.n);
    }
    EXPECT_EQ(results[0], results[1]);
  }
}

TEST(Bf16Matmul, ABiasOfAnFp32ProductIsAddedToEveryRow) {
  DeviceArrays device;
  Gemm gemm;
  gemm.m = 5;
  gemm.n = 7;
  gemm.k = 3;
  gemm.transpose = Transpose::kNN;
  const auto a = normal_values(15, 1), b = normal_values(21, 2), bias = normal_values(7, 3);
  float* c = device.unwritten(35);
  device->matmul(Stream::kCompute, gemm, device.upload(a), device.upload(b), c, device.upload(bias));
  auto expected = reference::matmul(Transpose::kNN, 5, 7, 3, a, b);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expected[i] += bias[i % 7];
  }
  expect_close(device.download(c, 35), expected);
}

// --- Attention ----------------------------------------------------------------------------------------------

TEST(Bf16Attention, ForwardAndBackwardEqualTheReference) {
  Attention a;
  a.sequences = 2;
  a.query_heads = 4;
  a.key_heads = 2;
  a.queries = a.keys = 70;
  a.head_size = 16;
  a.query_tile = 16;
  a.type = DataType::kBf16;
  Attention back = a;
  back.pass = AttentionPass::kBackward;
  const std::int64_t tokens = 140, qkv_size = tokens * 8 * 16, out_size = tokens * 4 * 16;
  const auto qkv = bf16_values(qkv_size, 1), out_grad = bf16_values(out_size, 2);
  std::vector<float> gradients[2];
  for (const int threads : {1, 2}) {
    Bf16Arrays device(threads);
    Bfloat16 *dqkv = device.put(qkv), *out = device.nothing(out_size), *grad = device.nothing(qkv_size);
    float* log_sum_exp = device.unwritten(tokens * 4);
    device->attention_forward(Stream::kCompute, a, dqkv, out, log_sum_exp);
    const auto expected = reference::attention_forward(a, qkv);
    expect_close(device.get(out, out_size), expected.out, kRelative, kAbsolute);
    expect_close(device.download(log_sum_exp, tokens * 4), expected.log_sum_exp);
    device->attention_backward(Stream::kCompute, back, dqkv, out, log_sum_exp, device.put(out_grad), grad);
    gradients[threads - 1] = device.get(grad, qkv_size);
    // The rounded output enters as dot(out_grad, out): 16 products of half a unit in the last place each.
    expect_close(gradients[threads - 1], reference::attention_backward(a, qkv, out_grad), kRelative, 1e-2);
  }
  EXPECT_EQ(gradients[0], gradients[1]);
}

// --- Blocks -------------------------------------------------------------------------------------------------

TEST(Bf16Blocks, EmbeddingCopiesAndAddsGradientsInBothTypes) {
  constexpr std::int64_t kTokens = 41, kHidden = 300, kFirst = 10, kRows = 12;
  const auto tokens = token_values(kTokens, 30, 1);
  const auto table = bf16_values(kRows * kHidden, 2), out_grad = bf16_values(kTokens * kHidden, 3);
  const auto before = bf16_values(kRows * kHidden, 4);
  Bf16Arrays device(2);
  const std::int32_t* ids = device.upload(tokens);
  Bfloat16* out = device.nothing(kTokens * kHidden);
  device->embed_forward(Stream::kCompute, ids, device.put(table), out, kTokens, kHidden, kFirst, kRows);
  expect_close(device.get(out, kTokens * kHidden), reference::embed_forward(tokens, table, kHidden, kFirst), 0, 0);
  const auto expected = reference::embed_backward(tokens, out_grad, before, kHidden, kFirst);
  float* wide = device.upload(before);
  device->embed_backward(Stream::kCompute, ids, device.put(out_grad), wide, kTokens, kHidden, kFirst, kRows);
  expect_close(device.download(wide, kRows * kHidden), expected);
  Bfloat16* narrowed = device.put(before);
  device->embed_backward(Stream::kCompute, ids, device.put(out_grad), narrowed, kTokens, kHidden, kFirst, kRows);
  // A row is the sum of some 4 tokens, rounded after each.
  expect_close(device.get(narrowed, kRows * kHidden), expected, kRelative, 4e-2);
}

TEST(Bf16Blocks, NormForwardAndGradientsEqualTheReferenceOfTheRoundedSum) {
  constexpr std::int64_t kTokens = 67, kHidden = 259;
  constexpr float kEpsilon = 1e-5F;
  const auto residual = bf16_values(kTokens * kHidden, 1), branch = bf16_values(kTokens * kHidden, 2);
  const auto weight = bf16_values(kHidden, 3), grad = bf16_values(kTokens * kHidden, 4);
  const auto incoming = bf16_values(kTokens * kHidden, 5);
  Bf16Arrays device(2);
  Bfloat16 *sum = device.nothing(kTokens * kHidden), *normed = device.nothing(kTokens * kHidden);
  float* rstd = device.unwritten(kTokens);
  const Bfloat16 *dweight = device.put(weight), *dgrad = device.put(grad);
  device->norm_forward(Stream::kCompute, device.put(residual), device.put(branch), dweight, sum, normed, rstd, kTokens,
                       kHidden, kEpsilon);
  const std::vector<float> rounded = device.get(sum, kTokens * kHidden);
  std::vector<double> exact = residual;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    exact[i] += branch[i];
  }
  expect_close(rounded, exact, kHalfUlp, 0);
  const std::vector<double> x(rounded.begin(), rounded.end());
  const auto expected = reference::norm_forward(x, weight, kEpsilon);
  expect_close(device.get(normed, kTokens * kHidden), expected.normed, kHalfUlp, kAbsolute);
  expect_close(device.download(rstd, kTokens), expected.rstd);
  const auto gradients = reference::norm_backward(grad, x, weight, kEpsilon);
  std::vector<double> flow = gradients.x;
  for (std::size_t i = 0; i < flow.size(); ++i) {
    flow[i] += incoming[i];
  }
  Bfloat16* residual_grad = device.put(incoming);
  device->norm_backward(Stream::kCompute, dgrad, sum, rstd, dweight, residual_grad, residual_grad, kTokens, kHidden);
  expect_close(device.get(residual_grad, kTokens * kHidden), flow, kRelative, 2e-5);
  float* weight_grad = device.unwritten(kHidden);
  device->norm_weight_backward(Stream::kCompute, dgrad, sum, rstd, weight_grad, kTokens, kHidden, false);
  expect_close(device.download(weight_grad, kHidden), gradients.weight, 1e-5, 4e-5);
}

TEST(Bf16Blocks, RopeSwigluAndAdditionRoundTheirResultsOnce) {
  constexpr std::int64_t kTokens = 26, kSequence = 13, kHead = 12, kHalf = kHead / 2, kWidth = 31;
  std::vector<double> cosines, sines;
  for (std::int64_t p = 0; p < kSequence; ++p) {
    for (std::int64_t i = 0; i < kHalf; ++i) {
      const double angle = static_cast<double>(p) * std::pow(10000.0, -2.0 * static_cast<double>(i) / kHead);
      cosines.push_back(std::cos(angle));
      sines.push_back(std::sin(angle));
    }
  }
  Bf16Arrays device(2);
  const RopeShape shape{kTokens, kSequence, 3, 2, kHead, device.upload(cosines), device.upload(sines)};
  const std::int64_t elements = kTokens * 7 * kHead;
  const auto qkv = bf16_values(elements, 1);
  Bfloat16* turned = device.put(qkv);
  device->rope_forward(Stream::kCompute, shape, turned);
  expect_close(device.get(turned, elements), reference::rope(shape, qkv, 1.0), kHalfUlp, kAbsolute);

  const auto gate_up = bf16_values(kTokens * 2 * kWidth, 1, 4.0), grad = bf16_values(kTokens * kWidth, 2);
  Bfloat16 *activated = device.nothing(kTokens * kWidth), *gate_up_grad = device.nothing(kTokens * 2 * kWidth);
  const Bfloat16* dgate_up = device.put(gate_up);
  device->swiglu_forward(Stream::kCompute, dgate_up, activated, kTokens, kWidth);
  expect_close(device.get(activated, kTokens * kWidth), reference::swiglu_forward(gate_up, kWidth), kHalfUlp,
               kAbsolute);
  device->swiglu_backward(Stream::kCompute, dgate_up, device.put(grad), gate_up_grad, kTokens, kWidth);
  expect_close(device.get(gate_up_grad, kTokens * 2 * kWidth), reference::swiglu_backward(gate_up, grad, kWidth),
               kHalfUlp, kAbsolute);

  std::vector<double> sum = grad;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    sum[i] *= 2;
  }
  Bfloat16* twice = device.put(grad);
  device->add(Stream::kCompute, twice, twice, twice, kTokens * kWidth);
  expect_close(device.get(twice, kTokens * kWidth), sum, 0, 0);
}

TEST(Bf16Loss, SumAndGradientEqualTheReference) {
  constexpr std::int64_t kTokens = 23, kVocabulary = 101;
  constexpr float kScale = 0.125F;
  const auto logits = bf16_values(kTokens * kVocabulary, 1, 3.0);
  const auto targets = token_values(kTokens, kVocabulary, 2);
  const auto expected = reference::loss(logits, targets, kVocabulary);
  Bf16Arrays device(2);
  const std::int32_t* ids = device.upload(targets);
  Bfloat16* x = device.put(logits);
  float* statistics = device.unwritten(kTokens * 3);
  std::int64_t* sum = device.upload(std::vector<std::int64_t>(kSumWords, 0));
  device->loss_statistics(Stream::kCompute, x, ids, statistics, kTokens, kVocabulary, 0);
  device->loss_gradient(Stream::kCompute, x, ids, statistics, 1, kTokens, kVocabulary, 0, kScale, sum);
  EXPECT_NEAR(value(device.download(sum, kSumWords)), expected.sum, 1e-5 * expected.sum);
  std::vector<double> gradient = expected.gradient;
  for (double& element : gradient) {
    element *= kScale;
  }
  expect_close(device.get(x, kTokens * kVocabulary), gradient, kHalfUlp, 1e-7);
}

// --- Updates ------------------------------------------------------------------------------------------------

TEST(Bf16Update, TheMasterIsUpdatedAsInFp32AndTheWorkingCopyIsItRounded) {
  constexpr std::int64_t kElements = 70001;
  const auto start = normal_values(kElements, 1), m = normal_values(kElements, 3, 0.1);
  const auto g = bf16_values(kElements, 2);
  std::vector<double> v = normal_values(kElements, 4, 0.1);
  for (double& element : v) {
    element = std::abs(element);
  }
  Bf16Arrays device(2);
  const float* clip = device.upload(std::vector<float>{0.5F});
  const AdamW options{1e-2F, 0.9F, 0.95F, 1e-8F, 0.1F, 0.1F, 0.05F};
  float *plain = device.upload(start), *master = device.upload(start);
  Bfloat16* working = device.nothing(kElements);
  device->adamw(Stream::kCompute, options, plain, {}, device.upload(g), device.upload(m), device.upload(v), clip,
                kElements);
  device->adamw(Stream::kCompute, options, master, working, device.put(g), device.upload(m), device.upload(v), clip,
                kElements);
  EXPECT_EQ(device.download(master, kElements), device.download(plain, kElements));
  const std::vector<float> updated = device.download(master, kElements);
  std::vector<Bfloat16> rounded(updated.size());
  narrow(updated.data(), rounded.data(), kElements);
  const std::vector<Bfloat16> got = device.download(working, kElements);
  EXPECT_EQ(std::memcmp(got.data(), rounded.data(), rounded.size() * sizeof(Bfloat16)), 0);

  float *sgd_plain = device.upload(start), *sgd_master = device.upload(start);
  device->sgd(Stream::kCompute, 0.1F, 0.9F, 0.01F, sgd_plain, {}, device.upload(g), device.upload(m), clip, kElements);
  device->sgd(Stream::kCompute, 0.1F, 0.9F, 0.01F, sgd_master, working, device.put(g), device.upload(m), clip,
              kElements);
  EXPECT_EQ(device.download(sgd_master, kElements), device.download(sgd_plain, kElements));
}

TEST(Bf16Update, TheSumOfSquaresIsThatOfTheSameValuesInFp32) {
  constexpr std::int64_t kElements = 70001;
  const auto values = bf16_values(kElements, 1);
  Bf16Arrays device(2);
  std::int64_t* wide = device.upload(std::vector<std::int64_t>(kSumWords, 0));
  std::int64_t* narrowed = device.upload(std::vector<std::int64_t>(kSumWords, 0));
  device->sum_of_squares(Stream::kCompute, device.upload(values), kElements, wide);
  device->sum_of_squares(Stream::kCompute, device.put(values), kElements, narrowed);
  EXPECT_EQ(device.download(wide, kSumWords), device.download(narrowed, kSumWords));
}

}  // namespace
}  // namespace trainyard::executor
