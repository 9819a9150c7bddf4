#include "simulator/simulate_cluster.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/model/model_flops.h"
#include "core/program/outline.h"
#include "core/units/format_quantity.h"
#include "simulator/compute/stack_kernels.h"
#include "simulator/memory/outline_memory.h"
#include "simulator/step/loss_dust.h"
#include "simulator/step/outline_execution.h"
#include "simulator/step/role_times.h"
#include "simulator/step/step_costs.h"
#include "simulator/throughput/machine_rates.h"

namespace trainyard::simulator {

namespace {

class OnSeed final : public GroupCost {
 public:
  // of: so many are asked for.
  OnSeed(const FlowGroupCost& groups, int seed, int of) : groups_(groups), seed_(seed), of_(of) {}
  GroupTime time(CollectiveOp op, Bytes size, const GroupShape& group) const override {
    const Seconds time = groups_.time_on_seed(op, size, group, seed_, of_);
    return {time, time, time};
  }

 private:
  const FlowGroupCost& groups_;
  int seed_;
  int of_;
};

Seconds percentile(const std::vector<Nanoseconds>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = at - static_cast<double>(below);
  return (1.0 - part) * to_seconds(sorted[below]) + part * to_seconds(sorted[above]);
}

// What follows from the waterfall and the spread.
void open_up(ClusterSimulation& result, const Plan& plan, const Machine& machine, FlopsPerSecond peak) {
  result.waterfall.losses = without_dust(result.waterfall.losses);
  const double tokens_per_rank =
      result.simulation.estimate.tokens_per_second / static_cast<double>(plan.layout.ranks());
  const auto share = [&](Flops per_token) { return tokens_per_rank * per_token.si() / peak.si(); };
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

struct Timed {
  Nanoseconds duration = 0;
  const GroupCost* groups = nullptr;
  OutlineCosts costs;
};

// By seed, from the fastest.
using TimedSeeds = std::vector<Timed>;

TimedSeeds time_seeds(const ProgramOutline& program, OutlineExecution& execution, const Plan& plan,
                      const Machine& machine, const std::vector<const GroupCost*>& seeds) {
  TimedSeeds timed;
  for (const GroupCost* groups : seeds) {
    OutlineCosts costs = price_under_stack(program, plan, machine, *groups);
    const Nanoseconds duration = execution.run(costs);
    timed.push_back({duration, groups, std::move(costs)});
  }
  std::stable_sort(timed.begin(), timed.end(), [](const Timed& a, const Timed& b) { return a.duration < b.duration; });
  return timed;
}

StepSpread spread_of(const TimedSeeds& timed) {
  std::vector<Nanoseconds> sorted;
  for (const Timed& seed : timed) {
    sorted.push_back(seed.duration);
  }
  return {percentile(sorted, 0.5), percentile(sorted, 0.05), percentile(sorted, 0.95), static_cast<int>(timed.size())};
}

// Times, memory and waterfall of the step on one seed. The trace has no slices and its program no instructions.
void show_outline(ClusterSimulation& result, const ProgramOutline& program, OutlineExecution& execution,
                  const Plan& plan, const OutlineCosts& costs, const KernelCost& kernels, FlopsPerSecond peak) {
  Simulation& simulation = result.simulation;
  OutlineTimes times;
  simulation.step.duration = execution.run(costs, &times);
  for (std::size_t r = 0; r < program.roles.size(); ++r) {
    simulation.step.roles.push_back(role_times(program.roles[r], times[r].data(), simulation.step.duration));
  }
  simulation.step.trace.simulated = true;
  simulation.step.trace.duration = simulation.step.duration;
  result.waterfall = waterfall(program, plan, costs, times, kernels, peak);
  simulation.program = program.frame;
}

// The same of the whole program, with slices.
void show_program(ClusterSimulation& result, const Plan& plan, const Machine& machine, const GroupCost& groups,
                  const KernelCost& kernels, FlopsPerSecond peak) {
  Simulation& simulation = result.simulation;
  simulation.program = compile(plan, ProgramKind::kTraining, RoleDetail::kByStage);
  simulation.costs = price_under_stack(simulation.program, plan, machine, groups);
  simulation.step = simulate_step(simulation.program, simulation.costs, TraceDetail::kSlices);
  result.waterfall = waterfall(simulation.program, plan, simulation.costs, kernels, peak);
}

std::variant<ClusterSimulation, Infeasible> simulate_on_each(const Plan& plan, const Machine& machine,
                                                             const std::vector<const GroupCost*>& seeds,
                                                             TraceDetail detail) {
  const DeviceProfile profile = analytic_profile(machine.accelerator, machine.fabric);
  const ProgramOutline program = outline(plan);
  if (std::optional<Infeasible> infeasible = exceeds_memory(program, profile)) {
    return *infeasible;
  }
  OutlineExecution execution(program);
  const TimedSeeds timed = time_seeds(program, execution, plan, machine, seeds);
  const Timed& shown = timed[(timed.size() - 1) / 2];
  ClusterSimulation result;
  result.spread = spread_of(timed);
  Simulation& simulation = result.simulation;
  simulation.memory = outline_memory(program, profile);
  const MachineRates rates = machine_rates(machine, plan.layout.compute_type);
  const StackKernels kernels(rates, plan.model, plan.layout);
  if (detail == TraceDetail::kSlices) {
    show_program(result, plan, machine, *shown.groups, kernels, rates.peak);
  } else {
    show_outline(result, program, execution, plan, shown.costs, kernels, rates.peak);
  }
  simulation.estimate.layout = plan.layout;
  simulation.estimate.method = EstimateMethod::kInstructions;
  simulation.estimate.memory_peak = worst(simulation.memory).total;
  simulation.estimate.memory_stage = worst(simulation.memory).stage;
  set_step_time(simulation.estimate, result.spread.median, plan, profile);
  open_up(result, plan, machine, rates.peak);
  if (machine.stack.attention == AttentionKernel::kUnfused) {
    result.notes.emplace_back("memory is that of fused attention; " + machine.stack.name +
                              " keeps its scores besides, as `plan` counts");
  }
  return result;
}

// A cost a hash seed.
class Seeds {
 public:
  Seeds(const FlowGroupCost& groups, int first) {
    const int count = std::min(first, groups.seeds());
    for (int seed = 0; seed < count; ++seed) {
      costs_.emplace_back(groups, seed, count);
    }
    for (const OnSeed& cost : costs_) {
      all_.push_back(&cost);
    }
  }
  const std::vector<const GroupCost*>& all() const { return all_; }

 private:
  std::vector<OnSeed> costs_;
  std::vector<const GroupCost*> all_;
};

}  // namespace

std::variant<StepSpread, Infeasible> spread_on_cluster(const Plan& plan, const Machine& machine,
                                                       const FlowGroupCost& groups, int first) {
  const DeviceProfile profile = analytic_profile(machine.accelerator, machine.fabric);
  const ProgramOutline program = outline(plan);
  if (std::optional<Infeasible> infeasible = exceeds_memory(program, profile)) {
    return *infeasible;
  }
  OutlineExecution execution(program);
  return spread_of(time_seeds(program, execution, plan, machine, Seeds(groups, first).all()));
}

std::variant<ClusterSimulation, Infeasible> simulate_on_cluster(const Plan& plan, const Machine& machine,
                                                                const FlowGroupCost& groups, TraceDetail detail) {
  const Seeds seeds(groups, groups.seeds());
  auto outcome = simulate_on_each(plan, machine, seeds.all(), detail);
  if (ClusterSimulation* simulated = std::get_if<ClusterSimulation>(&outcome)) {
    for (const std::string& note : groups.notes()) {
      simulated->notes.push_back(note);
    }
  }
  return outcome;
}

std::variant<ClusterSimulation, Infeasible> simulate_on_curves(const Plan& plan, const Machine& machine,
                                                               const GroupCost& groups, TraceDetail detail) {
  return simulate_on_each(plan, machine, {&groups}, detail);
}

StepSpread fed(const StepSpread& spread, const InputFeed& feed, const Layout& layout) {
  StepSpread all = spread;
  for (Seconds* time : {&all.median, &all.low, &all.high}) {
    *time += input_stall(feed, layout, *time);
  }
  return all;
}

void wait_for_input(ClusterSimulation& result, const InputFeed& feed) {
  Estimate& estimate = result.simulation.estimate;
  const Layout& layout = estimate.layout;
  const Seconds before = estimate.step_time;
  const Seconds stall = input_stall(feed, layout, before);
  result.waterfall.losses[static_cast<std::size_t>(StepLoss::kInput)] += stall;
  estimate.step_time += stall;
  result.spread = fed(result.spread, feed, layout);
  for (Seconds* time : {&result.low, &result.high}) {
    *time += input_stall(feed, layout, *time);
  }
  const double slower = before / estimate.step_time;
  for (double* rate : {&estimate.tokens_per_second, &estimate.mfu, &result.hfu, &result.mfu_full_attention}) {
    *rate *= slower;
  }
  if (!(stall > Seconds())) {
    return;  // its slowest and fastest may: an interval's low end waits first
  }
  result.notes.push_back("a step waits " + format_quantity(stall) + " for data on average: reading takes " +
                         format_quantity(input_time(feed, layout)) +
                         ", with nothing beside it; roles' times, and a trace, are without");
}

}  // namespace trainyard::simulator
