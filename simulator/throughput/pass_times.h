// Of a pipeline: its shape, and what one micro-batch takes in each chunk. Times in seconds.
#pragma once

#include <cstdint>

#include "core/layout/layout.h"

namespace trainyard::simulator {

struct PipelineShape {
  ScheduleKind schedule = ScheduleKind::k1f1b;
  int stages = 1;
  int chunks = 1;  // of a stage
  std::int64_t micro_batches = 1;
  friend bool operator==(const PipelineShape&, const PipelineShape&) = default;
};

// Gradients of a chunk that ZeRO 2 scatters behind each part of a backward: the head, layers, the embedding.
struct Scattering {
  double layers = 0.0;  // alike
  double layer = 0.0;   // of one
  double head = 0.0;
  double head_pass = 0.0;  // of the backward
  double embedding = 0.0;
  double embedding_pass = 0.0;
  // Beside each other, both are slower: by this share of the time that they are together, by pass.
  double slows_forward = 0.0;
  double slows_input = 0.0;
  double slows_weight = 0.0;  // and the whole backward where it is one pass
  double sum() const { return head + layers * layer + embedding; }
  friend bool operator==(const Scattering&, const Scattering&) = default;
};

// Of one chunk, one micro-batch.
struct PassTimes {
  double forward = 0.0;
  double input = 0.0;  // backward to inputs, recomputation included
  double weight = 0.0;
  double before_forward = 0.0;  // to make ready for: needs the stage alone
  double before_input = 0.0;
  double last = 0.0;  // that the last backward takes longer; of weights, where they have turns of their own
  Scattering scattering;
  double sum() const { return before_forward + forward + before_input + input + weight; }
  friend bool operator==(const PassTimes&, const PassTimes&) = default;
};

}  // namespace trainyard::simulator
