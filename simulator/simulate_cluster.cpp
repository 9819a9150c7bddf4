#include "simulator/simulate_cluster.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "simulator/compute/kernel_cost.h"
#include "simulator/step/step_costs.h"

namespace trainyard::simulator {

namespace {

class OnSeed final : public GroupCost {
 public:
  OnSeed(const FlowGroupCost& groups, int seed) : groups_(groups), seed_(seed) {}
  GroupTime time(CollectiveOp op, Bytes size, const GroupShape& group) const override {
    const Seconds time = groups_.time_on_seed(op, size, group, seed_);
    return {time, time, time};
  }

 private:
  const FlowGroupCost& groups_;
  int seed_;
};

Seconds percentile(const std::vector<Nanoseconds>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = at - static_cast<double>(below);
  return (1.0 - part) * to_seconds(sorted[below]) + part * to_seconds(sorted[above]);
}

}  // namespace

std::variant<ClusterSimulation, Infeasible> simulate_on_cluster(const Plan& plan, const DeviceProfile& profile,
                                                                const FlowGroupCost& groups, TraceDetail detail) {
  check(profile.analytic() != nullptr, "a cluster's accelerator is known from published numbers");
  ClusterSimulation result;
  Simulation& simulation = result.simulation;
  simulation.program = compile(plan, ProgramKind::kTraining, RoleDetail::kByStage);
  const std::int64_t per_node = ranks_per_node(profile, plan.layout.ranks());
  simulation.memory = estimate_memory(simulation.program, profile);
  if (std::optional<Infeasible> infeasible = exceeds_memory(simulation.memory, profile, per_node)) {
    return *infeasible;
  }
  const auto kernels = kernel_cost(profile, per_node);
  std::vector<std::pair<Nanoseconds, int>> by_seed;
  for (int seed = 0; seed < groups.seeds(); ++seed) {
    const StepCosts costs = price(simulation.program, *kernels, OnSeed(groups, seed), per_node);
    by_seed.emplace_back(simulate_step(simulation.program, costs, TraceDetail::kNone).duration, seed);
  }
  std::sort(by_seed.begin(), by_seed.end());
  std::vector<Nanoseconds> sorted;
  for (const auto& [duration, seed] : by_seed) {
    sorted.push_back(duration);
  }
  result.spread = {percentile(sorted, 0.5), percentile(sorted, 0.05), percentile(sorted, 0.95), groups.seeds()};
  const OnSeed usual(groups, by_seed[(by_seed.size() - 1) / 2].second);
  simulation.costs = price(simulation.program, *kernels, usual, per_node);
  simulation.step = simulate_step(simulation.program, simulation.costs, detail);
  simulation.estimate.layout = plan.layout;
  simulation.estimate.method = EstimateMethod::kInstructions;
  simulation.estimate.memory_peak = worst(simulation.memory).total;
  simulation.estimate.memory_stage = worst(simulation.memory).stage;
  set_step_time(simulation.estimate, result.spread.median, plan, profile);
  result.notes = groups.notes();
  return result;
}

}  // namespace trainyard::simulator
