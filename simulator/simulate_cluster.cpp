#include "simulator/simulate_cluster.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/model/model_flops.h"
#include "simulator/compute/stack_kernels.h"
#include "simulator/step/loss_dust.h"
#include "simulator/step/step_costs.h"
#include "simulator/throughput/machine_rates.h"

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

void open_up(ClusterSimulation& result, const Plan& plan, const Machine& machine) {
  const MachineRates rates = machine_rates(machine, plan.layout.compute_type);
  const StackKernels kernels(rates, plan.model, plan.layout.gradient_type);
  result.waterfall = waterfall(result.simulation.program, plan, result.simulation.costs, kernels, rates.peak);
  result.waterfall.losses = without_dust(result.waterfall.losses);
  const double tokens_per_rank =
      result.simulation.estimate.tokens_per_second / static_cast<double>(plan.layout.ranks());
  const auto share = [&](Flops per_token) { return tokens_per_rank * per_token.si() / rates.peak.si(); };
  result.hfu = share(result.waterfall.hardware_per_token);
  result.mfu_full_attention =
      share(model_flops_per_token(plan.model, plan.training.sequence, AttentionConvention::kFull));
  // The seeds' 5th and 95th percentile are 1.64 deviations away, the interval's ends 1.28.
  constexpr double kTenthOverTwentieth = 1.2816 / 1.6449;
  const auto width = [&](double ratio) {
    return std::exp(std::hypot(machine.stack.band, kTenthOverTwentieth * std::log(ratio)));
  };
  result.low = result.spread.median / width(result.spread.median / result.spread.low);
  result.high = result.spread.median * width(result.spread.high / result.spread.median);
}

std::variant<ClusterSimulation, Infeasible> simulate_on_each(const Plan& plan, const Machine& machine,
                                                             const std::vector<const GroupCost*>& seeds,
                                                             TraceDetail detail) {
  const DeviceProfile profile = analytic_profile(machine.accelerator, machine.fabric);
  ClusterSimulation result;
  Simulation& simulation = result.simulation;
  simulation.program = compile(plan, ProgramKind::kTraining, RoleDetail::kByStage);
  const std::int64_t per_node = ranks_per_node(profile, plan.layout.ranks());
  simulation.memory = estimate_memory(simulation.program, profile);
  if (std::optional<Infeasible> infeasible = exceeds_memory(simulation.memory, profile, per_node)) {
    return *infeasible;
  }
  std::vector<std::pair<StepResult, const GroupCost*>> by_seed;
  for (const GroupCost* groups : seeds) {
    const StepCosts costs = price_under_stack(simulation.program, plan, machine, *groups);
    by_seed.emplace_back(simulate_step(simulation.program, costs, TraceDetail::kNone), groups);
  }
  std::stable_sort(by_seed.begin(), by_seed.end(),
                   [](const auto& a, const auto& b) { return a.first.duration < b.first.duration; });
  std::vector<Nanoseconds> sorted;
  for (const auto& [step, groups] : by_seed) {
    sorted.push_back(step.duration);
  }
  result.spread = {percentile(sorted, 0.5), percentile(sorted, 0.05), percentile(sorted, 0.95),
                   static_cast<int>(seeds.size())};
  auto& [usual_step, usual_groups] = by_seed[(by_seed.size() - 1) / 2];
  simulation.costs = price_under_stack(simulation.program, plan, machine, *usual_groups);
  simulation.step = detail == TraceDetail::kNone ? std::move(usual_step)
                                                 : simulate_step(simulation.program, simulation.costs, detail);
  simulation.estimate.layout = plan.layout;
  simulation.estimate.method = EstimateMethod::kInstructions;
  simulation.estimate.memory_peak = worst(simulation.memory).total;
  simulation.estimate.memory_stage = worst(simulation.memory).stage;
  set_step_time(simulation.estimate, result.spread.median, plan, profile);
  open_up(result, plan, machine);
  return result;
}

}  // namespace

std::variant<ClusterSimulation, Infeasible> simulate_on_cluster(const Plan& plan, const Machine& machine,
                                                                const FlowGroupCost& groups, TraceDetail detail) {
  std::vector<OnSeed> costs;
  for (int seed = 0; seed < groups.seeds(); ++seed) {
    costs.emplace_back(groups, seed);
  }
  std::vector<const GroupCost*> seeds;
  for (const OnSeed& cost : costs) {
    seeds.push_back(&cost);
  }
  auto outcome = simulate_on_each(plan, machine, seeds, detail);
  if (ClusterSimulation* simulated = std::get_if<ClusterSimulation>(&outcome)) {
    simulated->notes = groups.notes();
  }
  return outcome;
}

std::variant<ClusterSimulation, Infeasible> simulate_on_curves(const Plan& plan, const Machine& machine,
                                                               const GroupCost& groups, TraceDetail detail) {
  return simulate_on_each(plan, machine, {&groups}, detail);
}

}  // namespace trainyard::simulator
