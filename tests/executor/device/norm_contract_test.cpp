// Norms of every device against the CPU's, and the sums over tokens that their weights' and biases' gradients are.
#include <cmath>

#include "tests/executor/device/device_contract.h"

namespace trainyard::executor {
namespace {

TEST_P(DeviceContract, Norms) {
  for (const std::int64_t h : kWidths) {
    SCOPED_TRACE(h);
    const std::int64_t t = 5;
    expect_same([&](Arrays& x) {
      const Values residual = x.values(t * h, 1), branch = x.values(t * h, 2), weight = x.values(h, 3);
      const Values incoming = x.values(t * h, 4), grad = x.values(t * h, 5);
      const Values sum = x.unwritten(t * h), normed = x.unwritten(t * h), back = x.unwritten(t * h);
      float* rstd = x.unwritten_floats(t);
      x->norm_forward(kStream, residual, branch, weight, sum, normed, rstd, t, h, 1e-5f);
      x->norm_backward(kStream, grad, sum, rstd, weight, incoming, back, t, h);
      x->norm_backward(kStream, grad, sum, rstd, weight, incoming, incoming, t, h);  // in place
      const Values alone = x.unwritten(t * h), alone_back = x.unwritten(t * h);
      float* alone_rstd = x.unwritten_floats(t);
      x->norm_forward(kStream, residual, nullptr, weight, nullptr, alone, alone_rstd, t, h, 1e-5f);
      x->norm_backward(kStream, grad, residual, alone_rstd, weight, nullptr, alone_back, t, h);
      for (const Values& array : {sum, normed, back, incoming, alone, alone_back}) {
        x.read(array, t * h);
      }
      x.read(rstd, t);
      x.read(alone_rstd, t);
    });
  }
}

TEST_P(DeviceContract, LayerNorms) {
  for (const std::int64_t h : kWidths) {
    SCOPED_TRACE(h);
    const std::int64_t t = 5;
    expect_same([&](Arrays& x) {
      const Values residual = x.values(t * h, 1), branch = x.values(t * h, 2), weight = x.values(h, 3);
      const Values bias = x.values(h, 6), incoming = x.values(t * h, 4), grad = x.values(t * h, 5);
      const Values sum = x.unwritten(t * h), normed = x.unwritten(t * h), back = x.unwritten(t * h);
      const Values alone = x.unwritten(t * h), alone_back = x.unwritten(t * h);
      float *moments = x.unwritten_floats(2 * t), *alone_moments = x.unwritten_floats(2 * t);
      x->layer_norm_forward(kStream, residual, branch, weight, bias, sum, normed, moments, t, h, 1e-5f);
      x->layer_norm_backward(kStream, grad, sum, moments, weight, incoming, back, t, h);
      x->layer_norm_forward(kStream, residual, nullptr, weight, bias, nullptr, alone, alone_moments, t, h, 1e-5f);
      x->layer_norm_backward(kStream, grad, residual, alone_moments, weight, nullptr, alone_back, t, h);
      for (const Values& array : {sum, normed, back, alone, alone_back}) {
        x.read(array, t * h);
      }
      x.read(moments, 2 * t);
    });
  }
}

TEST_P(DeviceContract, SumsOverTokensInGradientsOfEitherType) {
  for (const std::int64_t h : {8, 264, 7, 333}) {
    for (const std::int64_t t : {1, 70, 600}) {
      SCOPED_TRACE(testing::Message() << t << " x " << h);
      const double deviation = 2.0 * std::sqrt(static_cast<double>(t));  // of a sum of t products of unit normals
      expect_same(
          [&](Arrays& x) {
            const Values grad = x.values(t * h, 1), residual = x.values(t * h, 2);
            const float *rstd = x.floats(t, 3), *moments = x.floats(2 * t, 4);
            for (const DataType type : {x.type(), DataType::kFp32}) {
              const Values weight = x.of_type(normal_values(h, 5), type), bias = x.of_type(normal_values(h, 6), type);
              const Values layer = x.of_type(normal_values(h, 7), type);
              for (const bool accumulate : {true, false}) {
                x->norm_weight_backward(kStream, grad, residual, rstd, weight, t, h, accumulate);
                x.read(weight, h);
                x->layer_norm_weight_backward(kStream, grad, residual, moments, layer, bias, t, h, accumulate);
                x.read(layer, h);
                x.read(bias, h);
                x->bias_backward(kStream, grad, bias, t, h, accumulate);
                x.read(bias, h);
              }
            }
          },
          deviation);
    }
  }
}

}  // namespace
}  // namespace trainyard::executor
