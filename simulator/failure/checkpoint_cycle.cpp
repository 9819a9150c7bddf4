#include "simulator/failure/checkpoint_cycle.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trainyard::simulator {
namespace {

// fixed + per_start V0
struct Value {
  double fixed = 0.0;
  double per_start = 0.0;
};

// V = fixed + per_start V0 + on V', from the start of a stretch that goes back to itself or to the period's start.
// on + per_start = 1: whatever happens, one of the two comes next.
struct Step {
  double fixed = 0.0;
  double per_start = 0.0;
  double on = 0.0;
  // So many of them in a row; fixed (1 + on + on^2 + ...), whatever their number.
  Step repeated(std::int64_t times) const {
    const auto n = static_cast<double>(times);
    const double returns = -std::expm1(n * std::log1p(-per_start));
    return {fixed * (per_start > 0.0 ? returns / per_start : n), returns, 1.0 - returns};
  }
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

  // From the end of `count` segments, where the value is `after`, back to the start of segment `first`.
  Value back(Value after, std::int64_t count, std::int64_t first) const {
    while (count > first) {
      if (ends_in_storage(count - 1)) {
        after = storage_.before(after);
        --count;
      } else {
        const std::int64_t period = (count - 1) / period_.segments * period_.segments;
        const std::int64_t to = std::max(first, period);
        after = memory_.repeated(count - to).before(after);
        count = to;
      }
    }
    return after;
  }

  // Whole segments in a stretch of a period from its start on.
  std::int64_t whole(double stretch) const {
    const double memory = static_cast<double>(period_.segments - 1) * length(0);
    if (period_.segments == 1 || stretch >= memory) {
      const double last = period_.segments == 1 ? stretch : stretch - memory;
      return period_.segments - (last >= length(period_.segments - 1) ? 0 : 1);
    }
    return static_cast<std::int64_t>(stretch / length(0));
  }

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
  const double written = std::min(period.storage_write, undisturbed);
  const std::int64_t full = steps.whole(written);
  const double part = full == period.segments ? 0.0 : written - static_cast<double>(full) * steps.length(0);
  const Value after_next = steps.back(steps.step(part).before({}), period.segments + full, full + 1);
  const Value at_next = steps.back(after_next, full + 1, full);
  const Value start = steps.back(at_next, full, 0);
  const double succeeds = 1.0 - start.per_start;
  if (!(succeeds > 0.0)) {
    return std::numeric_limits<double>::infinity();
  }
  const double from_start = start.fixed / succeeds;  // V0
  const Value counted = steps.within(steps.length(full) - part, after_next, at_next);
  return counted.fixed + counted.per_start * from_start;
}

}  // namespace trainyard::simulator
