#include "simulator/throughput/pipeline_time.h"

#include "core/schedule/schedule.h"

namespace trainyard::simulator {

namespace {

constexpr double kTransferLeft = 0.35;  // with overlap
constexpr double kTogether = 0.5;       // a send with a receive

}  // namespace

bool weights_apart(const Layout& layout) { return layout.pipeline > 1 && weights_apart(layout.schedule); }

bool has_post_validation(const Layout& layout) {
  return layout.pipeline > 1 &&
         (layout.schedule == ScheduleKind::kZeroBubbleH1 || layout.schedule == ScheduleKind::kZeroBubbleH2 ||
          layout.schedule == ScheduleKind::kZeroBubbleV);
}

Seconds post_validation_bubble(ScheduleKind schedule, const StageTimes& stages) {
  // Of the other stages, as though all were alike.
  const double share = (stages.sum() - stages.slowest) / stages.sum();
  const Seconds saved = schedule == ScheduleKind::kZeroBubbleH1 ? stages.weight : 2.0 * stages.weight;
  const Seconds left = share * max(stages.forward + stages.input - saved, Seconds());
  return schedule == ScheduleKind::kZeroBubbleV ? left / 2.0 : left;
}

bool waits_for_transfers(const Layout& layout) {
  return layout.pipeline > 1 && layout.schedule != ScheduleKind::kZeroBubbleH2 &&
         layout.schedule != ScheduleKind::kZeroBubbleV && layout.schedule != ScheduleKind::kDualPipe;
}

double transfer_share(const Layout& layout, bool sliced) {
  const double left = layout.overlap_pipeline ? kTransferLeft : 1.0;
  return left * (waits_for_transfers(layout) ? kTogether : 1.0) * (sliced ? 1.0 : 2.0);
}

double transfers_in_a_row(const Layout& layout) {
  return 2.0 * (static_cast<double>(layout.accumulation) * layout.chunks_per_stage + layout.pipeline - 1.0);
}

}  // namespace trainyard::simulator
