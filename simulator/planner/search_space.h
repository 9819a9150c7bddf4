// SearchSpace: the layouts that a planner considers for a model, a batch and a number of ranks.
//
// Every tp, pp, dp with tp pp dp = ranks; every micro-batch size that divides a data-parallel rank's share of
// the batch; ZeRO 0 and 1; GPipe, 1F1B and interleaved 1F1B with 2, 4, 8 chunks per stage; recompute none and full;
// sequence parallelism on and off; overlap of the gradient reduction on and off. Switches that change nothing are left
// out (sequence parallelism with tp 1, schedules with pp 1, ZeRO and overlap with dp 1). Context and expert parallelism
// and ZeRO 2 and 3 are not searched.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/layout/layout.h"
#include "core/model/model_spec.h"
#include "core/plan/infeasible.h"
#include "core/plan/training.h"

namespace trainyard::simulator {

struct SearchLimits {
  int max_tensor = 64;
  std::int64_t max_micro_batch = 64;
  int max_chunks = 8;
  bool vary_overlap = true;  // off: overlap on
};

// In a fixed order. `base` gives what isn't searched: types, bucket size, rank order. Layouts whose degrees
// don't divide the model or the batch are in the list; why_impossible() says so.
std::vector<Layout> search_space(const ModelSpec& model, const Training& training, std::int64_t ranks,
                                 const Layout& base, const SearchLimits& limits);

// A degree that doesn't divide what it cuts, or that a program can't express; nothing if neither.
std::optional<Infeasible> why_impossible(const ModelSpec& model, const Training& training, const Layout& layout);

}  // namespace trainyard::simulator
