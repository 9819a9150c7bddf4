// In flight: micro-batches whose activations a pipeline stage holds at its worst moment.
//
//   m micro-batches, p stages, stage s from 0, v chunks a stage; in whole stages' worth of activations
//   GPipe         m                                              (Huang et al. 2019)
//   1F1B          min(m, p - s)                                  (Narayanan et al. 2021, section 2.2)
//   interleaved   min(m v, 2 (p - s - 1) + (v - 1) p + 1) / v    (Megatron-LM, pipeline_parallel/schedules.py)
//   ZB-H1         min(m, p): weight gradients come later on later stages     (Qi et al. 2023, section 2)
//   ZB-H2         min(m, 2 p - 1)
//   ZB-V          min(m, p)
//   DualPipe      min(m, p + 1), of one of the two chunks that a stage holds (DeepSeek-V3, 2024, table 2)
//
// Deferred: of those, the ones whose input gradient has run and whose weight gradient has not. They keep products'
// inputs and output gradients. From the turns of core/schedule (test InFlight.DeferredAsTheTurnsHaveIt):
//   ZB-H1 s + 1,  ZB-H2 2 s + 1,  ZB-V s + 1/2,  DualPipe 1/2,  each at most m;  others none: both halves run together
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/layout/layout.h"

namespace trainyard::simulator {

inline double micro_batches_in_flight(const Layout& layout, int stage) {
  const std::int64_t m = layout.accumulation;
  const std::int64_t p = layout.pipeline;
  const std::int64_t v = layout.chunks_per_stage;
  const auto most = [m](std::int64_t n) { return static_cast<double>(std::min(m, n)); };
  if (p == 1) {
    return 1.0;
  }
  switch (layout.schedule) {
    case ScheduleKind::kGpipe:
      return static_cast<double>(m);
    case ScheduleKind::k1f1b:
      return most(p - stage);
    case ScheduleKind::kInterleaved:
      return static_cast<double>(std::min(m * v, 2 * (p - stage - 1) + (v - 1) * p + 1)) / static_cast<double>(v);
    case ScheduleKind::kZeroBubbleH1:
    case ScheduleKind::kZeroBubbleV:
      return most(p);
    case ScheduleKind::kZeroBubbleH2:
      return most(2 * p - 1);
    case ScheduleKind::kDualPipe:
      return most(p + 1) / 2.0;  // of both chunks together
  }
  return 1.0;
}

inline double weight_gradients_deferred(const Layout& layout, int stage) {
  if (layout.pipeline == 1) {
    return 0.0;
  }
  const auto most = [&layout](double n) { return std::min(static_cast<double>(layout.accumulation), n); };
  switch (layout.schedule) {
    case ScheduleKind::kZeroBubbleH1:
      return most(stage + 1.0);
    case ScheduleKind::kZeroBubbleH2:
      return most(2.0 * stage + 1.0);
    case ScheduleKind::kZeroBubbleV:
      return most(stage + 0.5);
    case ScheduleKind::kDualPipe:
      return 0.5;
    default:
      return 0.0;
  }
}

}  // namespace trainyard::simulator
