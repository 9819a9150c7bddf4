#include "simulator/planner/measured_maximum.h"

#include <algorithm>

namespace trainyard::simulator {

namespace {

constexpr std::int64_t kMostBatch = std::int64_t{1} << 24;

PlannerResult filled_once(PlannerRequest request, const DeviceProfile& profile, std::int64_t batch,
                          const std::stop_token& stop) {
  request.training.global_batch = batch;
  request.limits.max_micro_batch = batch;
  request.simulated = 1;
  request.wanted = [wanted = request.wanted](const Layout& layout) {
    return layout.accumulation == layout.pipeline && (!wanted || wanted(layout));
  };
  return plan_layouts(request, profile, {}, stop);
}

// The largest n for which n x unit fits; 0 where 1 doesn't.
std::int64_t most_steps(const PlannerRequest& request, const DeviceProfile& profile, std::int64_t unit,
                        const std::stop_token& stop) {
  const auto fits = [&](std::int64_t n) { return !filled_once(request, profile, n * unit, stop).ranked.empty(); };
  if (!fits(1)) {
    return 0;
  }
  std::int64_t low = 1;
  std::int64_t high = 2;
  while (high * unit <= kMostBatch && fits(high)) {
    low = high;
    high *= 2;
  }
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace

std::optional<MeasuredMaximum> largest_batch(const PlannerRequest& request, const DeviceProfile& profile,
                                             const std::stop_token& stop) {
  std::int64_t best_unit = 0;
  std::int64_t best_batch = 0;
  for (std::int64_t unit = 1; unit <= request.ranks; ++unit) {
    if (request.ranks % unit != 0) {
      continue;
    }
    const std::int64_t batch = unit * most_steps(request, profile, unit, stop);
    if (batch > best_batch) {
      best_batch = batch;
      best_unit = unit;
    }
  }
  if (best_batch == 0 || stop.stop_requested()) {
    return std::nullopt;
  }
  MeasuredMaximum maximum;
  maximum.batch = best_batch;
  maximum.best = filled_once(request, profile, best_batch, stop).ranked.front();
  maximum.next = best_batch + best_unit;
  const PlannerResult beyond = filled_once(request, profile, maximum.next, stop);
  const auto memory = std::ranges::find(beyond.ruled_out, InfeasibleReason::kMemory, &RuledOut::reason);
  if (memory != beyond.ruled_out.end()) {
    maximum.next_lacks = *memory;
  }
  return maximum;
}

}  // namespace trainyard::simulator
