// InputFeed: the way of training data to the ranks, which checkpoints that are written share, and the time that steps
// wait for it.
//
//   a node reads   b = n sequences_per_replica sample    n: replicas with a rank on the node, at least 1
//   all read       B = dp r k sequences_per_replica sample   r: 2 on a pipeline, whose first stage needs a sample's
//                  tokens and its last the targets; k: nodes that a stage of a replica spans, each of which reads
//   alone          t = max(b / node, B / storage)
//   beside a save  2 t: data and the write have equal shares of NICs and storage (max-min)
//   a step takes   max(s, t), beside a save max(s, 2 t): the loader works a step ahead, s the step's time without it
//   mean           S = (1 - w) max(s, t) + w max(s, 2 t),  w = write / (steps between writes S), at most 1:
//                  so much of the time is one written. S never falls where s rises.
//
// Tokens are 4 B each as loaders read them, so that text never stalls a step; images, audio and video do.
// Source: max-min shares as the fabric's flows (core/cluster); readers as Megatron-LM's get_batch (first and last
// stage).
#pragma once

#include <cstdint>
#include <optional>

#include "core/layout/layout.h"
#include "core/units/quantity.h"

namespace trainyard::simulator {

struct InputFeed {
  Bytes sample;                           // of one sequence
  BytesPerSecond node;                    // front-end NICs of a node
  BytesPerSecond storage;                 // read rate of all ranks together
  std::int64_t ranks_per_node = 1;        // of the machine
  Seconds write;                          // of a checkpoint, behind the steps
  std::int64_t steps_between_writes = 0;  // 0: none is written
};

constexpr Bytes kBytesOfToken = from_si<Bytes>(4.0);

// Reading a step's samples, with nothing beside it.
Seconds input_time(const InputFeed& feed, const Layout& layout);

// What a step of this time waits on average: S - s. Rates must be above 0.
Seconds input_stall(const InputFeed& feed, const Layout& layout, Seconds step);

// s of a step that took S on average: the root of the same equation,
//   s = (S^2 - 2 w' t) / (S - w') where S < 2 t,  w' = write / steps between writes,  else S
// Nothing where s is at most t, or above it by no more than runs scatter: steps that wait for data all take the same.
std::optional<Seconds> without_input_stall(const InputFeed& feed, const Layout& layout, Seconds took);

}  // namespace trainyard::simulator
