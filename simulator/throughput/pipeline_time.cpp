#include "simulator/throughput/pipeline_time.h"

#include <algorithm>

namespace trainyard::simulator {

namespace {

// f, i, w of all stages but one.
Seconds zero_bubble(ScheduleKind schedule, double micro_batches, int stages, Seconds forward, Seconds input,
                    Seconds weight) {
  const double others = stages - 1.0;
  switch (schedule) {
    case ScheduleKind::kZeroBubbleH1:
      return max(forward + input - weight, input);
    case ScheduleKind::kZeroBubbleH2: {
      const Seconds filled = max(forward + input - 2.0 * weight, forward);
      return max(filled, ((stages - 2.0) * forward + (stages - 0.5 * micro_batches) * input) / others);
    }
    default:
      return max(max(max(forward, input), weight) / 2.0, input - (micro_batches - stages) / others * forward);
  }
}

Seconds zero_bubble_with_post_validation(ScheduleKind schedule, Seconds forward, Seconds input, Seconds weight) {
  const Seconds saved = schedule == ScheduleKind::kZeroBubbleH1 ? weight : 2.0 * weight;
  const Seconds left = max(forward + input - saved, Seconds());
  return schedule == ScheduleKind::kZeroBubbleV ? left / 2.0 : left;
}

}  // namespace

Seconds bubble_time(ScheduleKind schedule, int chunks_per_stage, bool post_validation, const StageTimes& stages) {
  const Seconds others = stages.sum() - stages.slowest;
  if (stages.stages == 1) {
    return {};
  }
  // Of the other stages, as though all were alike.
  const double share = others / stages.sum();
  const Seconds forward = share * stages.forward;
  const Seconds input = share * stages.input;
  const Seconds weight = share * stages.weight;
  switch (schedule) {
    case ScheduleKind::kGpipe:
    case ScheduleKind::k1f1b:
      return others;
    case ScheduleKind::kInterleaved:
      return others / chunks_per_stage;
    case ScheduleKind::kZeroBubbleH1:
    case ScheduleKind::kZeroBubbleH2:
    case ScheduleKind::kZeroBubbleV:
      return post_validation ? zero_bubble_with_post_validation(schedule, forward, input, weight)
                             : zero_bubble(schedule, stages.micro_batches, stages.stages, forward, input, weight);
    case ScheduleKind::kDualPipe: {
      const double pairs = stages.stages / 2.0 - 1.0;
      const Seconds surplus = max(input - weight, Seconds());
      return (pairs * forward + 2.0 * std::max(pairs - 1.0, 0.0) * surplus) / (stages.stages - 1.0);
    }
  }
  return others;
}

}  // namespace trainyard::simulator
