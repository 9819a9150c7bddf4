#include "simulator/planner/goodput.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace trainyard::simulator {

namespace {

constexpr double kMonth = 30.0 * 86400.0;  // in which less than one corruption should stay undetected

GoodputLayout priced(const RankedLayout& layout, const GoodputRequest& request) {
  const JobInput input{.model = request.model,
                       .layout = layout.layout,
                       .training = request.training,
                       .domains = request.domains,
                       .front_end = request.front_end,
                       .accelerator = &request.machine.accelerator,
                       .network = request.machine.fabric.nic_bandwidth.value,
                       .activations = layout.memory.of(MemoryUse::kActivations).quantity(),
                       .step_time = layout.step.step_time,
                       .policy = request.policy,
                       .checkpoint = request.checkpoint,
                       .overrides = request.overrides};
  GoodputLayout result;
  result.layout = layout;
  try {
    JobModel job = resolve_job(request.profile, input).job;
    result.interval = set_best_interval(job);
    result.timeouts = advised_timeouts(job);
    result.detectors = request.policy.detectors.empty()
                           ? advised_detectors(compare_detectors(job), from_si<Seconds>(kMonth)).kinds
                           : request.policy.detectors;
    result.spares = analyse(job).nodes_down_p99.value_or(job.spares.nodes);
    const Reliability reliability = analyse(with_advice(job, result.timeouts, result.spares, result.detectors));
    result.goodput = reliability.goodput;
    result.tokens_per_day = reliability.tokens_per_day;
    result.mttf = reliability.mttf;
  } catch (const Error&) {  // a policy that this layout can't follow
    result.goodput = 0.0;
  }
  return result;
}

}  // namespace

std::vector<GoodputLayout> rank_by_goodput(const std::vector<RankedLayout>& layouts, const GoodputRequest& request) {
  std::vector<GoodputLayout> ranked;
  for (const RankedLayout& layout : layouts) {
    ranked.push_back(priced(layout, request));
  }
  std::ranges::stable_sort(
      ranked, [](const GoodputLayout& a, const GoodputLayout& b) { return a.tokens_per_day > b.tokens_per_day; });
  return ranked;
}

CheckpointPolicy advised_checkpoint(CheckpointPolicy policy, const GoodputLayout& layout) {
  const double steps = layout.interval.storage / layout.layout.step.step_time;
  policy.every_steps = std::max<std::int64_t>(1, std::llround(steps));
  return policy;
}

RecoveryPolicy advised_recovery(RecoveryPolicy policy, const GoodputLayout& layout) {
  policy.hang_timeout = layout.timeouts.hang;
  policy.heartbeat_timeout = layout.timeouts.heartbeat;
  policy.spare_nodes = layout.spares;
  policy.detectors = layout.detectors;
  return policy;
}

}  // namespace trainyard::simulator
