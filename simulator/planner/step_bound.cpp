#include "simulator/planner/step_bound.h"

#include <algorithm>

#include "core/model/model_flops.h"
#include "simulator/throughput/machine_rates.h"

namespace trainyard::simulator {

StepBound::StepBound(const Workload& workload, const Machine& machine, const Layout& types) {
  const MachineRates rates = machine_rates(machine, types.compute_type);
  const double tokens = static_cast<double>(workload.sequence * workload.global_batch) * machine.stack.scale;
  const double matmul = 6.0 * static_cast<double>(matmul_parameter_count(workload.model));
  const double all = model_flops_per_token(workload.model, workload.sequence, AttentionConvention::kCausal).si();
  const double head = 6.0 * static_cast<double>(workload.model.vocabulary * workload.model.hidden);
  const bool flash = machine.stack.attention != AttentionKernel::kUnfused;
  const double scores_rate = flash ? rates.attention.flash.si() : peak_of(machine.accelerator, DataType::kBf16).si();
  layers_ = tokens * std::max(0.0, matmul - head) / rates.linear.reached.si();
  rest_ = tokens * (head / rates.wide.reached.si() + std::max(0.0, all - matmul) / scores_rate);
}

Seconds StepBound::of(const Layout& layout) const {
  const double again =
      layout.recompute == Recompute::kFull ? layers_ / (3.0 * static_cast<double>(layout.recompute_every)) : 0.0;
  const bool fills = layout.schedule == ScheduleKind::kGpipe || layout.schedule == ScheduleKind::k1f1b ||
                     layout.schedule == ScheduleKind::kInterleaved;
  const double waits = fills ? static_cast<double>(layout.pipeline - 1) /
                                   static_cast<double>(layout.chunks_per_stage * layout.accumulation)
                             : 0.0;
  return from_si<Seconds>((layers_ + again + rest_) * (1.0 + waits) / static_cast<double>(layout.ranks()));
}

}  // namespace trainyard::simulator
