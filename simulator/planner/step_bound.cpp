#include "simulator/planner/step_bound.h"

#include <algorithm>
#include <cmath>

#include "core/model/model_flops.h"

namespace trainyard::simulator {

StepBound::StepBound(const Workload& workload, const Machine& machine, const Layout& types, double best_share) {
  const double tokens = static_cast<double>(workload.sequence * workload.global_batch);
  const double matmul = 6.0 * static_cast<double>(matmul_parameter_count(workload.model));
  const double all = model_flops_per_token(workload.model, workload.sequence, AttentionConvention::kCausal).si();
  const double head = 6.0 * static_cast<double>(workload.model.vocabulary * workload.model.hidden);
  const double peak = machine.accelerator.peak(types.compute_type).si();
  const bool narrow = size_of(types.compute_type) < 2;
  const double scores_peak = narrow ? machine.accelerator.peak(DataType::kBf16).si() : peak;
  weights_ = tokens * matmul / (peak * best_share);
  layers_ = tokens * std::max(0.0, matmul - head) / (peak * best_share);
  scores_ = tokens * std::max(0.0, all - matmul) / std::max(peak, scores_peak);
}

Seconds StepBound::of(const Layout& layout) const {
  const double again =
      layout.recompute == Recompute::kFull ? layers_ / (3.0 * static_cast<double>(layout.recompute_every)) : 0.0;
  const bool fills = layout.schedule == ScheduleKind::kGpipe || layout.schedule == ScheduleKind::k1f1b ||
                     layout.schedule == ScheduleKind::kInterleaved;
  const double waits = fills ? static_cast<double>(layout.pipeline - 1) /
                                   static_cast<double>(layout.chunks_per_stage * layout.accumulation)
                             : 0.0;
  return from_si<Seconds>((weights_ + again + scores_) * (1.0 + waits) / static_cast<double>(layout.ranks()));
}

}  // namespace trainyard::simulator
