// simulate_on_cluster: a plan's step, instruction by instruction, its communication by flows on the cluster's graph.
//
// One role stands for each stage; equal groups of an axis run at once and share links and NICs. With hash routing the
// step is priced on every seed: step times have a spread as collectives do. Cost: flows once per (operation, group
// shape, seed), then O(instructions of distinct roles) a seed; not in GPUs.
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

namespace trainyard::simulator {

// Over the hash seeds.
struct StepSpread {
  Seconds median;
  Seconds low;   // 5th percentile
  Seconds high;  // 95th
  int seeds = 1;
};

struct ClusterSimulation {
  Simulation simulation;  // on the seed nearest to the median
  StepSpread spread;
  std::vector<std::string> notes;
};

// profile: analytic, of the cluster's accelerator and fabric (cluster_machine.h). Throws Error as simulate_plan() does.
std::variant<ClusterSimulation, Infeasible> simulate_on_cluster(const Plan& plan, const DeviceProfile& profile,
                                                                const FlowGroupCost& groups,
                                                                TraceDetail detail = TraceDetail::kNone);

}  // namespace trainyard::simulator
