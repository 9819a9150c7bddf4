// LayerNorm, GELU, learned positions and biases, against plain loops in fp64 whose gradients are checked by finite
// differences.
#include <numbers>

#include "tests/executor/device/device_fixture.h"

namespace trainyard::executor {
namespace {

using Doubles = std::vector<double>;

constexpr double kEpsilon = 1e-5;

// One row of h after the other.
Doubles layer_norm(const Doubles& x, const Doubles& weight, const Doubles& bias) {
  const std::size_t h = weight.size();
  Doubles y;
  for (std::size_t row = 0; row < x.size(); row += h) {
    double mean = 0, squares = 0;
    for (std::size_t i = 0; i < h; ++i) {
      mean += x[row + i] / static_cast<double>(h);
    }
    for (std::size_t i = 0; i < h; ++i) {
      squares += (x[row + i] - mean) * (x[row + i] - mean) / static_cast<double>(h);
    }
    for (std::size_t i = 0; i < h; ++i) {
      y.push_back((x[row + i] - mean) / std::sqrt(squares + kEpsilon) * weight[i] + bias[i]);
    }
  }
  return y;
}

Doubles gelu_of(const Doubles& x) {
  Doubles y;
  for (const double value : x) {
    const double u = std::sqrt(2.0 / std::numbers::pi) * (value + 0.044715 * value * value * value);
    y.push_back(0.5 * value * (1.0 + std::tanh(u)));
  }
  return y;
}

// Of dot(weights, f(x)) with respect to x, by central differences in fp64: the reference that needs no derivation.
template <class Function>
Doubles slope(const Doubles& x, const Doubles& weights, const Function& f) {
  constexpr double kStep = 1e-5;
  Doubles moved = x, gradient;
  for (std::size_t i = 0; i < x.size(); ++i) {
    double difference = 0;
    for (const double sign : {1.0, -1.0}) {
      moved[i] = x[i] + sign * kStep;
      const Doubles y = f(moved);
      for (std::size_t j = 0; j < y.size(); ++j) {
        difference += sign * weights[j] * y[j];
      }
    }
    moved[i] = x[i];
    gradient.push_back(difference / (2 * kStep));
  }
  return gradient;
}

Doubles plus(Doubles a, const Doubles& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] += b[i];
  }
  return a;
}

TEST(LayerNorm, ForwardAndAllGradientsEqualTheReference) {
  for (const std::int64_t h : {5, 33, 40}) {
    constexpr std::int64_t kTokens = 6;
    const std::int64_t n = kTokens * h;
    const Doubles residual = normal_values(n, 1), branch = normal_values(n, 2), incoming = normal_values(n, 3);
    const Doubles weight = normal_values(h, 4), bias = normal_values(h, 5), grad = normal_values(n, 6);
    const Doubles x = plus(residual, branch);
    DeviceArrays device(2);
    const float *dweight = device.upload(weight), *dbias = device.upload(bias), *dgrad = device.upload(grad);
    float *sum = device.unwritten(n), *normed = device.unwritten(n), *moments = device.unwritten(2 * kTokens);
    device->layer_norm_forward(Stream::kCompute, device.upload(residual), device.upload(branch), dweight, dbias, sum,
                               normed, moments, kTokens, h, 1e-5F);
    expect_close(device.download(sum, n), x);
    expect_close(device.download(normed, n), layer_norm(x, weight, bias));
    float* alone = device.unwritten(n);
    device->layer_norm_forward(Stream::kCompute, device.upload(residual), {}, dweight, dbias, {}, alone,
                               device.unwritten(2 * kTokens), kTokens, h, 1e-5F);
    expect_close(device.download(alone, n), layer_norm(residual, weight, bias));

    const Doubles x_grad = slope(x, grad, [&](const Doubles& moved) { return layer_norm(moved, weight, bias); });
    float* residual_grad = device.upload(incoming);
    device->layer_norm_backward(Stream::kCompute, dgrad, sum, moments, dweight, residual_grad, residual_grad, kTokens,
                                h);
    expect_close(device.download(residual_grad, n), plus(x_grad, incoming), 1e-5, 3e-5);
    float* fresh = device.unwritten(n);
    device->layer_norm_backward(Stream::kCompute, dgrad, sum, moments, dweight, {}, fresh, kTokens, h);
    expect_close(device.download(fresh, n), x_grad, 1e-5, 3e-5);

    const Doubles weight_slope = slope(weight, grad, [&](const Doubles& w) { return layer_norm(x, w, bias); });
    const Doubles bias_slope = slope(bias, grad, [&](const Doubles& b) { return layer_norm(x, weight, b); });
    float *weight_grad = device.unwritten(h), *bias_grad = device.unwritten(h);
    device->layer_norm_weight_backward(Stream::kCompute, dgrad, sum, moments, weight_grad, bias_grad, kTokens, h,
                                       false);
    expect_close(device.download(weight_grad, h), weight_slope, 1e-5, 2e-5);
    expect_close(device.download(bias_grad, h), bias_slope, 1e-5, 2e-5);
    device->layer_norm_weight_backward(Stream::kCompute, dgrad, sum, moments, weight_grad, bias_grad, kTokens, h, true);
    expect_close(device.download(weight_grad, h), plus(weight_slope, weight_slope), 1e-5, 4e-5);
    expect_close(device.download(bias_grad, h), plus(bias_slope, bias_slope), 1e-5, 4e-5);
  }
}

TEST(Gelu, ForwardAndGradientEqualTheTanhForm) {
  Doubles x = normal_values(1000, 1, 3.0);
  x.insert(x.end(), {0.0, -100.0, 100.0, -10.0, 10.0, 1e-8});
  const auto n = static_cast<std::int64_t>(x.size());
  const Doubles grad = normal_values(n, 2);
  Doubles expected;
  for (std::size_t i = 0; i < x.size(); ++i) {
    expected.push_back(slope({x[i]}, {grad[i]}, gelu_of).front());
  }
  DeviceArrays device(2);
  const float* in = device.upload(x);
  float *activated = device.unwritten(n), *in_grad = device.unwritten(n);
  device->gelu_forward(Stream::kCompute, in, activated, n);
  expect_close(device.download(activated, n), gelu_of(x), 1e-5, 1e-6);
  device->gelu_backward(Stream::kCompute, in, device.upload(grad), in_grad, n);
  expect_close(device.download(in_grad, n), expected, 1e-5, 1e-5);
}

TEST(Positions, AreAddedToEverySequenceAndSumTheirGradients) {
  constexpr std::int64_t kSequences = 3, kSequence = 7, kHidden = 300, kTokens = kSequences * kSequence;
  const Doubles positions = normal_values(kSequence * kHidden, 1), x = normal_values(kTokens * kHidden, 2);
  Doubles expected = x, sums = normal_values(kSequence * kHidden, 3);
  const Doubles before = sums;
  for (std::int64_t i = 0; i < kTokens * kHidden; ++i) {
    const auto at = static_cast<std::size_t>(i % (kSequence * kHidden));
    expected[static_cast<std::size_t>(i)] += positions[at];
    sums[at] += x[static_cast<std::size_t>(i)];
  }
  DeviceArrays device(2);
  float* out = device.upload(x);
  device->position_forward(Stream::kCompute, device.upload(positions), out, kTokens, kHidden, kSequence);
  expect_close(device.download(out, kTokens * kHidden), expected);
  float* grad = device.upload(before);
  device->position_backward(Stream::kCompute, device.upload(x), grad, kTokens, kHidden, kSequence, true);
  expect_close(device.download(grad, kSequence * kHidden), sums);
}

TEST(Bias, ItsGradientIsTheSumOverTokens) {
  constexpr std::int64_t kTokens = 50, kColumns = 300;
  const Doubles grad = normal_values(kTokens * kColumns, 1);
  Doubles sums(kColumns);
  for (std::size_t i = 0; i < grad.size(); ++i) {
    sums[i % kColumns] += grad[i];
  }
  DeviceArrays device(2);
  float* bias_grad = device.unwritten(kColumns);
  device->bias_backward(Stream::kCompute, device.upload(grad), bias_grad, kTokens, kColumns, false);
  expect_close(device.download(bias_grad, kColumns), sums, 1e-5, 2e-5);
}

}  // namespace
}  // namespace trainyard::executor
