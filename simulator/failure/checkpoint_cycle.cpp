#include "simulator/failure/checkpoint_cycle.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace trainyard::simulator {
namespace {

// fixed + per_start V0
struct Value {
  double fixed = 0.0;
  double per_start = 0.0;
};

// V = fixed + per_start V0 + on V', from the start of a stretch that goes back to itself or to the period's start.
struct Step {
  double fixed = 0.0;
  double per_start = 0.0;
  double on = 0.0;
  Value before(Value after) const { return {fixed + on * after.fixed, per_start + on * after.per_start}; }
};

class PeriodSteps {
 public:
  PeriodSteps(const CheckpointPeriod& period, const RecoveryMean& recovery)
      : period_(period), recovery_(recovery), cost_(1.0 / recovery.rate + recovery.time) {
    const double segment = period.work + period.memory_blocking;
    if (period.memory_write > 0.0) {
      const double early = -std::expm1(-recovery.rate * std::min(period.memory_write, segment));
      cost_ += recovery.to_memory * segment * early / -std::expm1(-recovery.rate * segment);
    }
    memory_ = step(segment);
    storage_ = step(period.work + period.storage_blocking);
  }

  bool ends_in_storage(std::int64_t segment) const { return (segment + 1) % period_.segments == 0; }
  double length(std::int64_t segment) const {
    return period_.work + (ends_in_storage(segment) ? period_.storage_blocking : period_.memory_blocking);
  }
  const Step& of(std::int64_t segment) const { return ends_in_storage(segment) ? storage_ : memory_; }

  Step step(double stretch) const {
    const double fails = -std::expm1(-recovery_.rate * stretch);
    const double stays = 1.0 - fails * recovery_.to_memory;
    return {fails * cost_ / stays, fails * (1.0 - recovery_.to_memory) / stays, (1.0 - fails) / stays};
  }

  // From within a segment: back to the segment's own start.
  Value within(double stretch, Value after, Value own_start) const {
    const double fails = -std::expm1(-recovery_.rate * stretch);
    const double memory = fails * recovery_.to_memory;
    return {fails * cost_ + memory * own_start.fixed + (1.0 - fails) * after.fixed,
            fails * (1.0 - recovery_.to_memory) + memory * own_start.per_start + (1.0 - fails) * after.per_start};
  }

 private:
  const CheckpointPeriod& period_;
  const RecoveryMean& recovery_;
  double cost_;
  Step memory_;
  Step storage_;
};

}  // namespace

double expected_period(const CheckpointPeriod& period, const RecoveryMean& recovery) {
  const double undisturbed = period.undisturbed();
  if (recovery.rate <= 0.0) {
    return undisturbed;
  }
  const PeriodSteps steps(period, recovery);
  // Where in the next period the write ends: `full` segments and a part of one.
  std::int64_t full = 0;
  double part = std::min(period.storage_write, undisturbed);
  while (full < period.segments && part >= steps.length(full)) {
    part -= steps.length(full);
    ++full;
  }
  std::vector<Value> start(static_cast<std::size_t>(period.segments + full) + 1);
  Value next = steps.step(part).before({});
  for (std::int64_t i = period.segments + full; i-- > 0;) {
    start[static_cast<std::size_t>(i) + 1] = next;
    next = steps.of(i).before(next);
  }
  start[0] = next;
  const double succeeds = 1.0 - next.per_start;
  if (!(succeeds > 0.0)) {
    return std::numeric_limits<double>::infinity();
  }
  const double from_start = next.fixed / succeeds;  // V0
  const auto at = static_cast<std::size_t>(full);
  const Value counted = steps.within(steps.length(full) - part, start[at + 1], start[at]);
  return counted.fixed + counted.per_start * from_start;
}

}  // namespace trainyard::simulator
