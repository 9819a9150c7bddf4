// Optimizer updates, one element; g is the gradient times the clipping factor.
//
//   AdamW (Loshchilov and Hutter 2019)
//     m = b1 m + (1 - b1) g,  v = b2 v + (1 - b2) g^2,  p -= rate (m / c1 / (sqrt(v / c2) + eps) + decay p)
//   SGD with momentum (as PyTorch's, decay decoupled)
//     u = momentum u + g,  p -= rate (u + decay p)
//
// The parameter is the fp32 one: itself, or the master of a 16-bit working copy, which the caller writes from it.
//
// Bytes moved, per element: AdamW 16 read + 12 written; SGD 8 + 4 without velocity, 12 + 8 with it; 2 more written for
// a 16-bit working copy, 2 less read for 16-bit gradients.
#pragma once

#include <cmath>

#include "executor/kernel/host_device.h"

namespace trainyard::executor {

struct AdamWFactors {
  float learning_rate, beta1, beta2, epsilon, weight_decay;
  float unbias1, unbias2;  // 1 / (1 - beta^step)
};

TRAINYARD_HOST_DEVICE inline void adamw_element(const AdamWFactors& f, float& parameter, float gradient,
                                                float& momentum, float& variance) {
  momentum = f.beta1 * momentum + (1.0f - f.beta1) * gradient;
  variance = f.beta2 * variance + (1.0f - f.beta2) * gradient * gradient;
  const float step = momentum * f.unbias1 / (std::sqrt(variance * f.unbias2) + f.epsilon);
  parameter -= f.learning_rate * (step + f.weight_decay * parameter);
}

TRAINYARD_HOST_DEVICE inline void sgd_element(float learning_rate, float weight_decay, float& parameter,
                                              float direction) {
  parameter -= learning_rate * (direction + weight_decay * parameter);
}

// How gradients were made: `scale` times too large, the loss scale of fp16 (Micikevicius et al. 2017), a power of two.
// An update whose gradients are not finite is left out where `skips` says so; elsewhere they show in the parameters.
struct GradientScale {
  float scale = 1;
  bool skips = false;
};

constexpr float kSkipUpdate = -1;

// The factor of the gradients of an update: min(1, limit / (norm / scale + 1e-6)) / scale, 1 / scale where limit is 0;
// kSkipUpdate for one that is skipped. norm: of the gradients as they are.
TRAINYARD_HOST_DEVICE inline float update_factor(double norm, float limit, const GradientScale& gradients) {
  const double scale = static_cast<double>(gradients.scale);
  const bool finite = norm - norm == 0.0;
  if (gradients.skips && !finite) {
    return kSkipUpdate;
  }
  const auto unscale = static_cast<float>(1.0 / scale);
  if (limit == 0.0f) {
    return unscale;
  }
  const double ratio = static_cast<double>(limit) / (norm / scale + 1e-6);
  // A norm that is not a number makes the factor so too, rather than leaving the gradients unclipped.
  return ratio >= 1.0 ? unscale : static_cast<float>(ratio / scale);
}

}  // namespace trainyard::executor
