// InputFeed: the way of training data to the ranks, which checkpoints that are written share, and the time that steps
// wait for it.
//
//   a node reads   b = n sequences_per_replica sample    n: replicas with a rank on the node, at least 1
//   all read       B = dp sequences_per_replica sample, twice on a pipeline: the first stage needs a sample's tokens,
//                  the last its targets
//   alone          t = max(b / node, B / storage)
//   beside a save  2 t: data and the write have equal shares of NICs and storage (max-min)
//   a step waits   max(0, t - s): the loader works a step ahead, s the step's time without it
//   mean           (1 - w) max(0, t - s) + w max(0, 2 t - s),  w = write / (steps between writes s), at most 1
//
// Tokens are 4 B each as loaders read them, so that text never stalls a step; images, audio and video do.
// Source: max-min shares as the fabric's flows (core/cluster); readers as Megatron-LM's get_batch (first and last
// stage).
#pragma once

#include <cstdint>

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

// What a step of this time waits on average.
Seconds input_stall(const InputFeed& feed, const Layout& layout, Seconds step);

}  // namespace trainyard::simulator
