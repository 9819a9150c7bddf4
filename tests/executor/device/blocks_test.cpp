// Embedding, addition, RMSNorm, rotary embedding and SwiGLU. Sizes are odd on purpose: rows shorter and longer
// than the lanes of a sum, tiles of unequal rows.
#include "tests/executor/device/device_fixture.h"

namespace trainyard::executor {
namespace {

using Values = std::vector<double>;

Values plus(Values a, const Values& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] += b[i];
  }
  return a;
}

TEST(Embedding, TokensOutsideTheSliceGiveZeroAndGetNoGradient) {
  constexpr std::int64_t kTokens = 41, kHidden = 300, kFirst = 10, kRows = 12;
  const auto tokens = token_values(kTokens, 30, 1);
  const auto table = normal_values(kRows * kHidden, 2), out_grad = normal_values(kTokens * kHidden, 3);
  const auto table_grad = normal_values(kRows * kHidden, 4);
  for (const int threads : {1, 2}) {
    DeviceArrays device(threads);
    const std::int32_t* ids = device.upload(tokens);
    float* out = device.unwritten(kTokens * kHidden);
    device->embed_forward(Stream::kCompute, ids, device.upload(table), out, kTokens, kHidden, kFirst, kRows);
    expect_close(device.download(out, kTokens * kHidden), reference::embed_forward(tokens, table, kHidden, kFirst), 0,
                 0);
    float* grad = device.upload(table_grad);
    device->embed_backward(Stream::kCompute, ids, device.upload(out_grad), grad, kTokens, kHidden, kFirst, kRows);
    expect_close(device.download(grad, kRows * kHidden),
                 reference::embed_backward(tokens, out_grad, table_grad, kHidden, kFirst));
  }
}

TEST(Add, IsElementwiseAndMayBeInPlace) {
  constexpr std::int64_t kElements = 100003;
  const auto a = normal_values(kElements, 1), b = normal_values(kElements, 2);
  DeviceArrays device(2);
  float* sum = device.upload(a);
  device->add(Stream::kCompute, sum, device.upload(b), sum, kElements);
  expect_close(device.download(sum, kElements), plus(a, b), 1e-6, 0);
}

void expect_norm(std::int64_t t, std::int64_t h, int threads) {
  SCOPED_TRACE(testing::Message() << t << " tokens of " << h);
  constexpr float kEpsilon = 1e-5f;
  const auto residual = normal_values(t * h, 1), branch = normal_values(t * h, 2), weight = normal_values(h, 3);
  const auto normed_grad = normal_values(t * h, 4), incoming = normal_values(t * h, 5);
  const auto before = normal_values(h, 6);
  const auto x = plus(residual, branch);
  const auto expected = reference::norm_forward(x, weight, kEpsilon);
  const auto gradients = reference::norm_backward(normed_grad, x, weight, kEpsilon);

  DeviceArrays device(threads);
  const float *dresidual = device.upload(residual), *dbranch = device.upload(branch), *dweight = device.upload(weight);
  float *sum = device.unwritten(t * h), *normed = device.unwritten(t * h), *rstd = device.unwritten(t);
  device->norm_forward(Stream::kCompute, dresidual, dbranch, dweight, sum, normed, rstd, t, h, kEpsilon);
  expect_close(device.download(sum, t * h), x);
  expect_close(device.download(normed, t * h), expected.normed);
  expect_close(device.download(rstd, t), expected.rstd);

  // Without a branch the residual itself is normalised and no sum written.
  float* alone = device.unwritten(t * h);
  device->norm_forward(Stream::kCompute, dresidual, nullptr, dweight, nullptr, alone, device.unwritten(t), t, h,
                       kEpsilon);
  expect_close(device.download(alone, t * h), reference::norm_forward(residual, weight, kEpsilon).normed);

  const float* dgrad = device.upload(normed_grad);
  float* residual_grad = device.upload(incoming);
  device->norm_backward(Stream::kCompute, dgrad, sum, rstd, dweight, residual_grad, residual_grad, t, h);
  expect_close(device.download(residual_grad, t * h), plus(gradients.x, incoming), 1e-5, 2e-5);
  float* fresh = device.unwritten(t * h);
  device->norm_backward(Stream::kCompute, dgrad, sum, rstd, dweight, nullptr, fresh, t, h);
  expect_close(device.download(fresh, t * h), gradients.x, 1e-5, 2e-5);

  // The gradient of a weight is a sum over t tokens: rounding grows with sqrt(t).
  const double rounding = 4e-6 * std::sqrt(static_cast<double>(t));
  float* weight_grad = device.unwritten(h);
  device->norm_weight_backward(Stream::kCompute, dgrad, sum, rstd, weight_grad, t, h, false);
  expect_close(device.download(weight_grad, h), gradients.weight, 1e-5, rounding);
  float* added = device.upload(before);
  device->norm_weight_backward(Stream::kCompute, dgrad, sum, rstd, added, t, h, true);
  expect_close(device.download(added, h), plus(gradients.weight, before), 1e-5, rounding);
}

TEST(Norm, ForwardAndBothGradientsEqualTheReference) {
  expect_norm(1, 8, 1);
  expect_norm(5, 33, 1);
  expect_norm(67, 768, 1);
  expect_norm(301, 259, 2);
}

TEST(Norm, ReferenceGradientIsTheSlopeOfItsForward) {
  const auto x = normal_values(3 * 7, 1), weight = normal_values(7, 2), normed_grad = normal_values(3 * 7, 3);
  const auto gradients = reference::norm_backward(normed_grad, x, weight, 1e-5);
  expect_gradient(x, normed_grad, gradients.x,
                  [&](const Values& moved) { return reference::norm_forward(moved, weight, 1e-5).normed; });
  expect_gradient(weight, normed_grad, gradients.weight,
                  [&](const Values& moved) { return reference::norm_forward(x, moved, 1e-5).normed; });
}

TEST(Rope, TurnsQueriesAndKeysByTheirPositionAndBackAgain) {
  constexpr std::int64_t kTokens = 26, kSequence = 13, kHead = 12, kHalf = kHead / 2;
  Values cosines, sines;
  for (std::int64_t p = 0; p < kSequence; ++p) {
    for (std::int64_t i = 0; i < kHalf; ++i) {
      const double angle = static_cast<double>(p) * std::pow(10000.0, -2.0 * static_cast<double>(i) / kHead);
      cosines.push_back(std::cos(angle));
      sines.push_back(std::sin(angle));
    }
  }
  DeviceArrays device(2);
  const RopeShape shape{kTokens, kSequence, 3, 2, kHead, device.upload(cosines), device.upload(sines)};
  const std::int64_t elements = kTokens * (3 + 2 * 2) * kHead;
  const auto qkv = normal_values(elements, 1);
  float* turned = device.upload(qkv);
  device->rope_forward(Stream::kCompute, shape, turned);
  expect_close(device.download(turned, elements), reference::rope(shape, qkv, 1.0));
  // A rotation's transpose is its inverse, so the backward pass undoes the forward one.
  device->rope_backward(Stream::kCompute, shape, turned);
  expect_close(device.download(turned, elements), qkv);
}

TEST(Swiglu, ForwardAndGradientEqualTheReference) {
  for (const std::int64_t f : {1, 31, 517}) {
    constexpr std::int64_t kTokens = 90;
    const auto gate_up = normal_values(kTokens * 2 * f, 1, 4.0), grad = normal_values(kTokens * f, 2);
    DeviceArrays device(2);
    const float* dgate_up = device.upload(gate_up);
    float *activated = device.unwritten(kTokens * f), *gate_up_grad = device.unwritten(kTokens * 2 * f);
    device->swiglu_forward(Stream::kCompute, dgate_up, activated, kTokens, f);
    expect_close(device.download(activated, kTokens * f), reference::swiglu_forward(gate_up, f));
    device->swiglu_backward(Stream::kCompute, dgate_up, device.upload(grad), gate_up_grad, kTokens, f);
    expect_close(device.download(gate_up_grad, kTokens * 2 * f), reference::swiglu_backward(gate_up, grad, f));
  }
}

TEST(Swiglu, ReferenceGradientIsTheSlopeOfItsForward) {
  const auto gate_up = normal_values(2 * 10, 1), grad = normal_values(10, 2);
  expect_gradient(gate_up, grad, reference::swiglu_backward(gate_up, grad, 5),
                  [](const Values& x) { return reference::swiglu_forward(x, 5); });
}

}  // namespace
}  // namespace trainyard::executor
