// Softmax of one row of scaled attention scores, and its backward.
//
//   forward   p = exp(scale x - m) with m = max(scale x); the row's sum divides the output afterwards;
//             log-sum-exp = m + ln(sum)
//   again     p = exp(scale x - log_sum_exp), normalised
//   backward  dx = scale p (dp - delta), delta = dot(dout, out)
//
// The scores are a tile in cache; nothing here goes through memory. Keys from `visible` on are masked by
// -infinity, whose weight is 0: cheaper than rows of uneven length, which leave a remainder to every vector
// loop.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "executor/kernel/exponential.h"
#include "executor/kernel/host_device.h"

namespace trainyard::executor {

struct SoftmaxRow {
  float sum = 0.0f;  // of the unnormalised weights
  float log_sum_exp = 0.0f;
};

template <class Group>
TRAINYARD_HOST_DEVICE inline void mask_row(const Group& group, float* scores, std::int64_t visible, std::int64_t keys) {
  group.each(keys - visible, [&](std::int64_t i) { scores[visible + i] = -std::numeric_limits<float>::infinity(); });
}

template <class Group>
TRAINYARD_HOST_DEVICE inline SoftmaxRow softmax_row(const Group& group, float* scores, float scale,
                                                    std::int64_t visible, std::int64_t keys) {
  mask_row(group, scores, visible, keys);
  const float highest = scale * group.maximum(keys, [&](std::int64_t i) { return scores[i]; });
  const float sum = group.sum(keys, [&](std::int64_t i) {
    const float weight = exponential(scale * scores[i] - highest);
    scores[i] = weight;
    return weight;
  });
  return {sum, highest + std::log(sum)};
}

template <class Group>
TRAINYARD_HOST_DEVICE inline void softmax_again_row(const Group& group, float* scores, float scale, float log_sum_exp,
                                                    std::int64_t visible, std::int64_t keys) {
  mask_row(group, scores, visible, keys);
  group.each(keys, [&](std::int64_t i) { scores[i] = exponential(scale * scores[i] - log_sum_exp); });
}

// weight_grad -> score gradient, in place. Masked weights are 0, so their gradients are too.
template <class Group>
TRAINYARD_HOST_DEVICE inline void softmax_backward_row(const Group& group, const float* weights, float* weight_grad,
                                                       float scale, float delta, std::int64_t keys) {
  group.each(keys, [&](std::int64_t i) { weight_grad[i] = scale * weights[i] * (weight_grad[i] - delta); });
}

}  // namespace trainyard::executor
