// The planner: prices every layout of the search space in closed form, drops what can't work, and simulates
// the best of the rest instruction by instruction.
//
// Deterministic: the same request gives the same ranking. Cost: about a summary per layout, and a program for
// each simulated one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/plan/capabilities.h"
#include "core/plan/device_profile.h"
#include "core/plan/plan.h"
#include "simulator/estimate.h"
#include "simulator/planner/search_space.h"

namespace trainyard::simulator {

struct PlannerRequest {
  ModelSpec model;
  Training training;
  std::int64_t ranks = 1;
  Layout base;                               // types, bucket size, rank order: what isn't searched
  std::optional<Capabilities> capabilities;  // only layouts that an executor can run
  SearchLimits limits;
  std::function<bool(const Layout&)> wanted;  // layouts for which it is false aren't considered; unset: all are
  int simulated = 3;  // how many of the best are simulated; at least 1. More, up to kMostSimulated, where the formula
                      // has others before the best of those
};

constexpr int kMostSimulated = 20;

struct PlannerProgress {
  std::int64_t priced = 0;
  std::int64_t layouts = 0;
  int simulated = 0;
  const std::vector<Estimate>* ranked = nullptr;  // so far, in no order; there during the call only
};

// Layouts ruled out for one reason, by how many: memory as one row with the nearest miss as its example, the
// others by what they say.
struct RuledOut {
  InfeasibleReason reason = InfeasibleReason::kDivision;
  std::int64_t count = 0;
  Layout example_layout;  // for memory: the one that lacks least
  Infeasible example;
};

struct PlannerResult {
  // Simulated ones first, by their step time; then the rest by closed form.
  std::vector<Estimate> ranked;
  std::vector<RuledOut> ruled_out;
  std::int64_t considered = 0;
  bool stopped = false;  // by the stop token: the ranking is of what was priced until then
};

PlannerResult plan_layouts(const PlannerRequest& request, const DeviceProfile& profile,
                           const std::function<void(const PlannerProgress&)>& progress = {},
                           const std::stop_token& stop = {});

// The plan document for one of the ranked layouts.
Plan make_plan(const PlannerRequest& request, const DeviceProfile& profile, const Layout& layout);

}  // namespace trainyard::simulator
