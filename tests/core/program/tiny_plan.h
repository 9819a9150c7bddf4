// Small plans for tests: a model that divides by 1, 2 and 4, with a vocabulary that doesn't.
#pragma once

#include <vector>

#include "core/plan/plan.h"

namespace trainyard::testing {

inline ModelSpec tiny_model() {
  ModelSpec model;
  model.name = "tiny";
  model.layers = 4;
  model.hidden = 64;
  model.feed_forward = 176;
  model.heads = 4;
  model.key_value_heads = 4;
  model.head_size = 16;
  model.vocabulary = 259;
  model.positions = 128;
  return model;
}

inline Plan tiny_plan(const Layout& layout, std::int64_t sequence = 32) {
  Plan plan;
  plan.model = tiny_model();
  plan.cluster = {.name = "local", .ranks_per_node = layout.ranks(), .device = "cpu"};
  plan.layout = layout;
  plan.training.sequence = sequence;
  plan.training.global_batch = layout.sequences_per_step();
  plan.training.steps = 20;
  plan.training.warmup_steps = 2;
  return plan;
}

// Every combination of degrees for this many ranks, with the switches that change a program.
inline std::vector<Layout> layouts_of(int ranks) {
  std::vector<Layout> all;
  for (int tensor : {1, 2, 4}) {
    for (int pipeline : {1, 2, 4}) {
      if (ranks % (tensor * pipeline) != 0) {
        continue;
      }
      Layout layout;
      layout.tensor = tensor;
      layout.pipeline = pipeline;
      layout.data = ranks / (tensor * pipeline);
      layout.micro_batch = 2;
      layout.accumulation = pipeline > 1 ? 4 : 2;
      layout.bucket_bytes = ByteCount(64 << 10);
      all.push_back(layout);
      layout.schedule = ScheduleKind::kGpipe;
      all.push_back(layout);
      layout.schedule = ScheduleKind::k1f1b;
      layout.recompute = Recompute::kFull;
      all.push_back(layout);
      layout.recompute = Recompute::kNone;
      if (layout.data > 1) {
        layout.zero_stage = 1;
        all.push_back(layout);
        layout.overlap_gradient_reduce = false;
        all.push_back(layout);
        layout.strict_reduction = true;
        all.push_back(layout);
      }
      if (tensor > 1) {
        layout.sequence_parallel = true;
        all.push_back(layout);
      }
    }
  }
  return all;
}

}  // namespace trainyard::testing
