// Rotary position embedding (Su et al. 2021), rotate-half convention of the Llama checkpoints.
//
// Element i of a head of d pairs with i + d/2; position p turns the pair by the angle p theta^(-2i/d):
//
//   (a, b) -> (a cos - b sin, b cos + a sin);  backward turns by the opposite angle.
//
// Bytes moved, per head and token: 4 d read + 4 d written in fp32, half in bf16 (the tables stay in cache).
#pragma once

#include <cstdint>

#include "executor/kernel/bfloat16.h"
#include "executor/kernel/host_device.h"

namespace trainyard::executor {

// In place on one head of one token. direction: 1 forward, -1 backward.
template <class Group, class T>
TRAINYARD_HOST_DEVICE inline void rope_head(const Group& group, T* head, const float* cosines, const float* sines,
                                            std::int64_t half, float direction) {
  T* second = head + half;
  group.each(half, [&](auto i) {
    const auto a = load(head + i);
    const auto b = load(second + i);
    const auto sine = direction * load(sines + i);
    store(head + i, a * load(cosines + i) - b * sine);
    store(second + i, b * load(cosines + i) + a * sine);
  });
}

}  // namespace trainyard::executor
