#include "simulator/throughput/pipeline_time.h"

namespace trainyard::simulator {

Seconds bubble_time(ScheduleKind schedule, int chunks_per_stage, const StageTimes& stages) {
  const Seconds others = stages.sum() - stages.slowest;
  if (stages.stages == 1) {
    return {};
  }
  // Of the other stages, as though all were alike.
  const double share = others / stages.sum();
  const Seconds forward = share * stages.forward;
  const Seconds input = share * stages.input;
  const Seconds weight = share * stages.weight;
  const auto at_least_none = [](Seconds time) { return max(time, Seconds()); };
  switch (schedule) {
    case ScheduleKind::kGpipe:
    case ScheduleKind::k1f1b:
      return others;
    case ScheduleKind::kInterleaved:
      return others / chunks_per_stage;
    case ScheduleKind::kZeroBubbleH1:
      return at_least_none(forward + input - weight);
    case ScheduleKind::kZeroBubbleH2:
      return at_least_none(forward + input - 2.0 * weight);
    case ScheduleKind::kZeroBubbleV:
      return at_least_none(forward + input - 2.0 * weight) / 2.0;
    case ScheduleKind::kDualPipe: {
      const double pairs = static_cast<double>(stages.stages) / 2.0 - 1.0;
      return at_least_none(pairs / (stages.stages - 1.0) * (forward + 2.0 * input - weight));
    }
  }
  return others;
}

}  // namespace trainyard::simulator
