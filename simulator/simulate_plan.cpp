#include "simulator/simulate_plan.h"

#include "core/model/model_flops.h"
#include "simulator/collective/collective_cost.h"
#include "simulator/compute/kernel_cost.h"
#include "simulator/step/step_costs.h"

namespace trainyard::simulator {

void set_step_time(Estimate& estimate, Seconds step_time, const Plan& plan, const DeviceProfile& profile) {
  const double ranks = static_cast<double>(plan.layout.ranks());
  const double tokens = static_cast<double>(plan.training.global_batch * plan.training.sequence);
  const Flops per_token = model_flops_per_token(plan.model, plan.training.sequence, AttentionConvention::kCausal);
  const FlopsPerSecond peak =
      peak_rate(profile, plan.layout.compute_type, ranks_per_node(profile, plan.layout.ranks()));
  estimate.step_time = step_time;
  estimate.tokens_per_second = tokens / step_time.si();
  estimate.mfu = tokens * per_token / step_time / (ranks * peak);
}

std::variant<Simulation, Infeasible> simulate_plan(const Plan& plan, const DeviceProfile& profile, TraceDetail detail) {
  Simulation simulation;
  simulation.program = compile(plan);
  const std::int64_t per_node = ranks_per_node(profile, plan.layout.ranks());
  simulation.memory = estimate_memory(simulation.program, profile);
  if (std::optional<Infeasible> infeasible = exceeds_memory(simulation.memory, profile, per_node)) {
    return *infeasible;
  }
  simulation.costs =
      price(simulation.program, *kernel_cost(profile, per_node), *collective_cost(profile, per_node), profile);
  simulation.step = simulate_step(simulation.program, simulation.costs, detail);
  simulation.estimate.layout = plan.layout;
  simulation.estimate.method = EstimateMethod::kInstructions;
  simulation.estimate.memory_peak = worst(simulation.memory).total;
  simulation.estimate.memory_stage = worst(simulation.memory).stage;
  set_step_time(simulation.estimate, to_seconds(simulation.step.duration), plan, profile);
  return simulation;
}

}  // namespace trainyard::simulator
