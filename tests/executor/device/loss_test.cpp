#include <cstring>

#include "core/program/norm_sum.h"
#include "tests/executor/device/device_fixture.h"

namespace trainyard::executor {
namespace {

constexpr std::int64_t kTokens = 23;
constexpr std::int64_t kVocabulary = 101;
constexpr float kScale = 0.125f;

struct Sliced {
  double sum = 0.0;
  std::vector<std::int64_t> words;
  std::vector<std::vector<float>> gradients;  // by slice, [t, columns of the slice]
};

// Statistics of every slice, then the gradient of every slice from all statistics: what tensor-parallel ranks do.
Sliced run(const std::vector<double>& logits, const std::vector<std::int32_t>& targets,
           const std::vector<std::int64_t>& edges, int threads) {
  DeviceArrays device(threads);
  const int parts = static_cast<int>(edges.size()) - 1;
  const std::int32_t* ids = device.upload(targets);
  float* statistics = device.unwritten(parts * kTokens * 3);
  std::int64_t* sum = device.upload(std::vector<std::int64_t>(kSumWords, 0));
  std::vector<float*> slices;
  for (int part = 0; part < parts; ++part) {
    std::vector<double> slice;
    for (std::int64_t token = 0; token < kTokens; ++token) {
      slice.insert(slice.end(), logits.begin() + token * kVocabulary + edges[part],
                   logits.begin() + token * kVocabulary + edges[part + 1]);
    }
    slices.push_back(device.upload(slice));
    device->loss_statistics(Stream::kCompute, slices.back(), ids, statistics + part * kTokens * 3, kTokens,
                            edges[part + 1] - edges[part], edges[part]);
  }
  Sliced result;
  for (int part = 0; part < parts; ++part) {
    const std::int64_t v = edges[part + 1] - edges[part];
    device->loss_gradient(Stream::kCompute, slices[part], ids, statistics, parts, kTokens, v, edges[part], kScale,
                          part == 0 ? sum : nullptr);
    result.gradients.push_back(device.download(slices[part], kTokens * v));
  }
  result.words = device.download(sum, kSumWords);
  result.sum = value(result.words);
  return result;
}

TEST(Loss, SumAndGradientEqualTheReferenceForAnySlicesOfTheVocabulary) {
  const auto logits = normal_values(kTokens * kVocabulary, 1, 3.0);
  const auto targets = token_values(kTokens, kVocabulary, 2);
  const auto expected = reference::loss(logits, targets, kVocabulary);
  for (const auto& edges : std::vector<std::vector<std::int64_t>>{{0, 101}, {0, 51, 101}, {0, 1, 40, 101}}) {
    const Sliced got = run(logits, targets, edges, 1);
    EXPECT_NEAR(got.sum, expected.sum, 1e-6 * expected.sum);
    for (std::size_t part = 0; part < got.gradients.size(); ++part) {
      const std::int64_t v = edges[part + 1] - edges[part];
      for (std::int64_t token = 0; token < kTokens; ++token) {
        for (std::int64_t i = 0; i < v; ++i) {
          ASSERT_NEAR(got.gradients[part][token * v + i],
                      kScale * expected.gradient[token * kVocabulary + edges[part] + i], 1e-6);
        }
      }
    }
  }
}

TEST(Loss, ReferenceGradientIsTheSlopeOfTheSum) {
  const auto logits = normal_values(2 * 5, 1);
  const std::vector<std::int32_t> targets{4, 0};
  expect_gradient(logits, {1.0}, reference::loss(logits, targets, 5).gradient, [&](const std::vector<double>& x) {
    return std::vector<double>{reference::loss(x, targets, 5).sum};
  });
}

TEST(Loss, ThreadsDoNotChangeABit) {
  const auto logits = normal_values(kTokens * kVocabulary, 1, 3.0);
  const auto targets = token_values(kTokens, kVocabulary, 2);
  const Sliced one = run(logits, targets, {0, 101}, 1), two = run(logits, targets, {0, 101}, 2);
  EXPECT_EQ(one.words, two.words);
  EXPECT_EQ(one.gradients, two.gradients);
}

TEST(Loss, ScaleZeroLeavesTheLogitsAlone) {
  const auto logits = normal_values(kTokens * kVocabulary, 1);
  const auto targets = token_values(kTokens, kVocabulary, 2);
  DeviceArrays device;
  float* x = device.upload(logits);
  float* statistics = device.unwritten(kTokens * 3);
  const std::int32_t* ids = device.upload(targets);
  std::int64_t* sum = device.upload(std::vector<std::int64_t>(kSumWords, 0));
  device->loss_statistics(Stream::kCompute, x, ids, statistics, kTokens, kVocabulary, 0);
  device->loss_gradient(Stream::kCompute, x, ids, statistics, 1, kTokens, kVocabulary, 0, 0.0f, sum);
  expect_close(device.download(x, kTokens * kVocabulary), logits, 0, 0);
  EXPECT_NEAR(value(device.download(sum, kSumWords)), reference::loss(logits, targets, kVocabulary).sum, 1e-4);
}

TEST(Loss, ACertainTargetLosesNothingRatherThanLessThanNothing) {
  // ln(1) + max - target: rounding must not make it negative, which the exact sum refuses.
  std::vector<double> logits(kTokens * kVocabulary, -100.0);
  for (std::int64_t token = 0; token < kTokens; ++token) {
    logits[token * kVocabulary + 3] = 17.3f;
  }
  EXPECT_EQ(run(logits, std::vector<std::int32_t>(kTokens, 3), {0, 101}, 1).sum, 0.0);
}

TEST(Loss, ANonFiniteLogitMakesTheSumNotANumber) {
  auto logits = normal_values(kTokens * kVocabulary, 1);
  logits[5 * kVocabulary + 7] = std::nan("");
  EXPECT_TRUE(std::isnan(run(logits, token_values(kTokens, kVocabulary, 2), {0, 101}, 1).sum));
}

}  // namespace
}  // namespace trainyard::executor
