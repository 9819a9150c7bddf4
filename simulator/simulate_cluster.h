// simulate_on_cluster: a plan's step, instruction by instruction, its communication by flows on the cluster's graph.
//
// One role stands for each stage; equal groups of an axis run at once and share links and NICs. With hash routing the
// step is priced on every seed: step times have a spread as collectives do. All of it goes by the step's outline
// (core/program/outline.h), a tenth of the work for the same numbers; the program is compiled whole only for a trace.
// Cost: flows once per (operation, group shape, seed), then O(instructions of distinct roles) a seed; not in GPUs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/cluster/cluster.h"
#include "core/plan/device_profile.h"
#include "simulator/collective/flow_group_cost.h"
#include "simulator/simulate_plan.h"
#include "simulator/step/input_feed.h"
#include "simulator/step/step_waterfall.h"
#include "simulator/throughput/machine.h"

namespace trainyard::simulator {

// Over the hash seeds.
struct StepSpread {
  Seconds median;
  Seconds low;   // 5th percentile
  Seconds high;  // 95th
  int seeds = 1;
};

struct ClusterSimulation {
  // On the seed nearest to the median. Without slices its program has no instructions and no hash, and no costs.
  Simulation simulation;
  StepSpread spread;
  StepWaterfall waterfall;  // of the same step
  // 4 of 5 measured runs are expected between these: the stack's band, and the seeds'.
  Seconds low;
  Seconds high;
  double hfu = 0.0;
  double mfu_full_attention = 0.0;  // the estimate's MFU counts causal attention
  std::vector<std::string> notes;
};

// Only how long the step takes, and whether it fits: for many layouts. Throws Error as simulate_on_cluster() does.
// first: so many of the hash seeds.
std::variant<StepSpread, Infeasible> spread_on_cluster(const Plan& plan, const Machine& machine,
                                                       const FlowGroupCost& groups, int first);

// machine: of the cluster's accelerator and fabric (cluster_machine.h). Throws Error as simulate_plan() does.
std::variant<ClusterSimulation, Infeasible> simulate_on_cluster(const Plan& plan, const Machine& machine,
                                                                const FlowGroupCost& groups,
                                                                TraceDetail detail = TraceDetail::kNone);

// The same on a cluster of which only nodes and NICs are known: communication by measured curves, no spread.
std::variant<ClusterSimulation, Infeasible> simulate_on_curves(const Plan& plan, const Machine& machine,
                                                               const GroupCost& groups,
                                                               TraceDetail detail = TraceDetail::kNone);

// With what steps of these times wait for data on average.
StepSpread fed(const StepSpread& spread, const InputFeed& feed, const Layout& layout);

// Adds what steps wait for data on average: to each end of the interval and of the seeds' spread, and to the step, its
// time and its waterfall, as the loss "input". A trace shows the step without it; a note says so where it waits.
void wait_for_input(ClusterSimulation& result, const InputFeed& feed);

}  // namespace trainyard::simulator
