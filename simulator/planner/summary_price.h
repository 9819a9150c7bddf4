// A layout's step time in closed form, from its StepSummary.
//
// Stage s works t_s per micro-batch: its segments, tensor-parallel communication that nothing hides, and what
// weight gradients don't hide of the rest. p stages, m micro-batches, x the time of a transfer:
//
//   step = sum_s t_s + 2 (p-1) x + (m-1) period + tail
//   period, GPipe = max_s t_s
//   period, 1F1B  = max( max_s t_s, max_j (sum_{s>=j} t_s + 2 (p-1-j) x) / (p-j) )
//
// Interleaved, v chunks a stage: the fill sum_s t_s - t_max shrinks to a v-th, and each micro-batch crosses
// v times as many boundaries:
//
//   step = max_s t_s + (sum_s t_s - max_s t_s + 2 (p-1) x) / v + (m-1) (max_s t_s + 2 v x (p-1)/p) + tail
//
// The second term of 1F1B's is its longest dependency cycle: stage j has p-j micro-batches under way, and the
// next forward waits for the backward that came all the way back. Equal stages and x = 0 give
// (m + p - 1)(t_f + t_b) (Narayanan et al. 2021, section 2.2).
//
//   tail = max_s( reduction left after the last backward of s - backward of the stages before it )
//          + norm reduction + max_s( optimizer, gathering of parameters bucket by bucket behind it )
//
// Where work overlaps communication, both run at their measured slower rates until one is done.
#pragma once

#include "core/plan/device_profile.h"
#include "core/program/step_summary.h"
#include "simulator/collective/collective_cost.h"
#include "simulator/compute/kernel_cost.h"
#include "simulator/estimate.h"

namespace trainyard::simulator {

// Costs that don't depend on the layout; made once per search.
struct PriceList {
  const DeviceProfile& profile;
  const KernelCost& kernels;
  const CollectiveCost& collectives;
  std::int64_t ranks = 1;
};

struct SummaryPrice {
  Seconds step_time;
  StepParts parts;
};
SummaryPrice price(const StepSummary& summary, const Layout& layout, const PriceList& prices);

// Time until both are done, when work a and communication b start together and slow each other.
Seconds overlapped(Seconds a, Seconds b, const OverlapSlowdown& slowdown);

// The recurrence above for given stage times; without tail.
Seconds pipeline_time(const std::vector<Seconds>& stages, Seconds transfer, std::int64_t microbatches,
                      ScheduleKind schedule, int chunks = 1);

}  // namespace trainyard::simulator
