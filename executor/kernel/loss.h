// Cross-entropy over a vocabulary that is cut into slices, one token (row) at a time.
//
// Each slice gives m = max(x), s = sum(exp(x - m)) and the target's x, or -infinity when the target is in
// another slice. From all slices' statistics:
//
//   M = max m,  S = sum s exp(m - M),  loss = ln S + M - x_target  (nats),
//   gradient = (exp(x - M) / S - [target]) scale
//
// Bytes moved, per row of v, in fp32 (bf16: half): statistics 4 v read; gradient 4 v read + 4 v written.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "executor/kernel/bfloat16.h"
#include "executor/kernel/exponential.h"
#include "executor/kernel/host_device.h"

namespace trainyard::executor {

constexpr int kLossStatistics = 3;  // per token and slice: maximum, sum of exponentials, target's logit

struct LossStatistics {
  float maximum = 0.0f;
  float sum = 0.0f;  // of exp(x - maximum)
  float target = 0.0f;
};

template <class Group, class T>
TRAINYARD_HOST_DEVICE inline LossStatistics loss_statistics_row(const Group& group, const T* logits,
                                                                std::int64_t target_column, std::int64_t v) {
  const float highest = group.maximum(v, [&](auto i) { return load(logits + i); });
  const float sum = group.sum(v, [&](auto i) { return exponential(load(logits + i) - highest); });
  const bool here = target_column >= 0 && target_column < v;
  return {highest, sum, here ? load(logits + target_column) : -std::numeric_limits<float>::infinity()};
}

struct TokenLoss {
  float maximum = 0.0f;
  float sum = 0.0f;  // of exp(x - maximum) over the whole vocabulary
  double loss = 0.0;
};

// statistics: of the first slice; the next slice's lie `stride` floats further.
TRAINYARD_HOST_DEVICE inline TokenLoss token_loss(const float* statistics, int parts, std::int64_t stride) {
  float maximum = statistics[0];
  float target = statistics[2];
  for (int part = 1; part < parts; ++part) {
    const float* slice = statistics + part * stride;
    maximum = slice[0] > maximum ? slice[0] : maximum;
    target = slice[2] > target ? slice[2] : target;
  }
  double sum = 0.0;
  for (int part = 0; part < parts; ++part) {
    const float* slice = statistics + part * stride;
    sum += static_cast<double>(slice[1]) * std::exp(static_cast<double>(slice[0]) - maximum);
  }
  const double loss = std::log(sum) + (static_cast<double>(maximum) - target);
  // Mathematically >= 0; rounding may leave a tiny negative. A NaN passes.
  return {maximum, static_cast<float>(sum), loss < 0.0 ? 0.0 : loss};
}

// One pass, so that no element is rounded twice or written by two threads. A target in another slice: no column.
template <class Group, class T>
TRAINYARD_HOST_DEVICE inline void loss_gradient_row(const Group& group, T* logits, std::int64_t target_column,
                                                    const TokenLoss& token, float scale, std::int64_t v) {
  const float factor = scale / token.sum;
  group.each(v, [&](auto i) {
    const auto weight = exponential(load(logits + i) - token.maximum) * factor;
    store(logits + i, weight - value_at(i, target_column, scale));
  });
}

}  // namespace trainyard::executor
