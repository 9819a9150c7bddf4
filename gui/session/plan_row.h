// PlanRow: one layout of a search: what was found of it, or why it can't run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/layout/layout.h"
#include "core/plan/infeasible.h"
#include "core/units/count.h"
#include "core/units/quantity.h"
#include "simulator/estimate.h"
#include "simulator/planner/ranked_layout.h"

namespace trainyard::gui {

struct PlanRow {
  Layout layout;
  std::string text;                      // layout_text(): what stars and the cache of analyses go by
  std::optional<Infeasible> infeasible;  // then no times
  bool unfit_as_program = false;         // infeasible though it fits by formula: `memory` is its program's
  Seconds step_time;
  std::optional<Seconds> low;  // 80 % interval
  std::optional<Seconds> high;
  double tokens_per_second = 0.0;
  double mfu = 0.0;
  ByteCount memory;  // of the worst rank; of an infeasible row what it would need, 0: not known
  ByteCount available;
  int memory_stage = 0;
  std::optional<double> bubble;          // share of the step
  std::optional<double> communication;   // exposed, share of the step
  std::optional<double> cost;            // of a billion tokens, where an hour's price is given
  std::optional<double> goodput;         // where failures are known
  std::optional<double> tokens_per_day;  // useful ones
  bool simulated = false;                // instruction by instruction, not by formula

  // Where the numbers come from: of a cluster of published numbers, of this machine.
  std::optional<simulator::RankedLayout> ranked;  // of an infeasible row: its memory only
  std::optional<simulator::Estimate> estimate;

  bool feasible() const { return !infeasible; }
};

}  // namespace trainyard::gui
