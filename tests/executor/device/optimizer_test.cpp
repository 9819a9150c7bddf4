#include "core/program/norm_sum.h"
#include "tests/executor/device/device_fixture.h"

namespace trainyard::executor {
namespace {

constexpr std::int64_t kElements = 100001;

TEST(SumOfSquares, EqualsCoresBlocksBitForBit) {
  const auto values = normal_values(kElements, 1);
  const std::vector<float> exact(values.begin(), values.end());
  std::vector<std::int64_t> expected(kSumWords, 0);
  for (std::int64_t block = 0; block < kElements; block += kNormBlock) {
    const auto size = static_cast<std::size_t>(std::min(kNormBlock, kElements - block));
    add_term(expected, sum_of_squares(std::span(exact).subspan(static_cast<std::size_t>(block), size)));
  }
  for (const int threads : {1, 2}) {
    DeviceArrays device(threads);
    std::int64_t* sum = device.upload(std::vector<std::int64_t>(kSumWords, 0));
    device->sum_of_squares(Stream::kCompute, device.upload(exact), kElements, sum);
    EXPECT_EQ(value(device.download(sum, kSumWords)), value(expected));
    EXPECT_EQ(device.download(sum, kSumWords), expected);
  }
}

TEST(ClipScale, IsTheLimitOverTheNormAndAtMostOne) {
  std::vector<std::int64_t> sum(kSumWords, 0);
  add_term(sum, 16.0);  // norm 4
  DeviceArrays device;
  float* scale = device.unwritten(1);
  const std::int64_t* words = device.upload(sum);
  const auto at_limit = [&](float limit) {
    device->clip_scale(Stream::kCompute, words, limit, {}, scale);
    return device.download(scale, 1)[0];
  };
  EXPECT_NEAR(at_limit(1.0f), 0.25, 1e-6);
  EXPECT_EQ(at_limit(8.0f), 1.0f);
  EXPECT_EQ(at_limit(0.0f), 1.0f);
  sum[kSumWords - 1] = 1;  // a non-finite gradient was met
  words = device.upload(sum);
  EXPECT_TRUE(std::isnan(at_limit(1.0f)));
}

TEST(AdamW, FollowsItsEquationsOverThreeSteps) {
  auto p = normal_values(kElements, 1), m = std::vector<double>(kElements), v = std::vector<double>(kElements);
  DeviceArrays device(2);
  float *parameters = device.upload(p), *momentum = device.upload(m), *variance = device.upload(v);
  const float* clip = device.upload(std::vector<float>{0.5f});
  for (int step = 1; step <= 3; ++step) {
    const AdamW options{1e-2f,
                        0.9f,
                        0.95f,
                        1e-8f,
                        0.1f,
                        1.0f - std::pow(0.9f, static_cast<float>(step)),
                        1.0f - std::pow(0.95f, static_cast<float>(step))};
    const auto g = normal_values(kElements, 10 + step);
    device->adamw(Stream::kCompute, options, parameters, {}, device.upload(g), momentum, variance, clip, kElements);
    for (std::size_t i = 0; i < p.size(); ++i) {
      m[i] = 0.9 * m[i] + 0.1 * 0.5 * g[i];
      v[i] = 0.95 * v[i] + 0.05 * 0.25 * g[i] * g[i];
      const double first = m[i] / (1.0 - std::pow(0.9, step)), second = v[i] / (1.0 - std::pow(0.95, step));
      p[i] -= 1e-2 * (first / (std::sqrt(second) + 1e-8) + 0.1 * p[i]);
    }
  }
  expect_close(device.download(momentum, kElements), m, 1e-5, 1e-6);
  expect_close(device.download(variance, kElements), v, 1e-5, 1e-6);
  expect_close(device.download(parameters, kElements), p, 1e-5, 1e-6);
}

TEST(Sgd, WithAndWithoutMomentum) {
  const auto start = normal_values(kElements, 1), g = normal_values(kElements, 2), u = normal_values(kElements, 3);
  DeviceArrays device(2);
  const float *gradients = device.upload(g), *clip = device.upload(std::vector<float>{0.5f});
  float *plain = device.upload(start), *heavy = device.upload(start), *velocity = device.upload(u);
  device->sgd(Stream::kCompute, 0.1f, 0.0f, 0.01f, plain, {}, gradients, nullptr, clip, kElements);
  device->sgd(Stream::kCompute, 0.1f, 0.9f, 0.01f, heavy, {}, gradients, velocity, clip, kElements);
  std::vector<double> expected_plain, expected_heavy, expected_velocity;
  for (std::size_t i = 0; i < start.size(); ++i) {
    expected_plain.push_back(start[i] - 0.1 * (0.5 * g[i] + 0.01 * start[i]));
    expected_velocity.push_back(0.9 * u[i] + 0.5 * g[i]);
    expected_heavy.push_back(start[i] - 0.1 * (expected_velocity[i] + 0.01 * start[i]));
  }
  expect_close(device.download(plain, kElements), expected_plain, 1e-5, 1e-6);
  expect_close(device.download(velocity, kElements), expected_velocity, 1e-5, 1e-6);
  expect_close(device.download(heavy, kElements), expected_heavy, 1e-5, 1e-6);
}

TEST(Zero, ClearsExactlyTheBytesAsked) {
  DeviceArrays device(2);
  float* values = device.upload(std::vector<float>(kElements, 1.0f));
  device->zero(Stream::kCompute, values + 1, ByteCount(4 * (kElements - 2)));
  const auto got = device.download(values, kElements);
  EXPECT_EQ(got.front(), 1.0f);
  EXPECT_EQ(got.back(), 1.0f);
  EXPECT_EQ(std::count(got.begin(), got.end(), 0.0f), kElements - 2);
}

}  // namespace
}  // namespace trainyard::executor
