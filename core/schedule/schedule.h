// Schedule: the order in which a pipeline stage runs the passes of its micro-batches.
//
// With p stages and m micro-batches (Narayanan et al. 2021, section 2.2):
//   GPipe  all m forwards, then all m backwards in reverse: m micro-batches in flight.
//   1F1B   stage s warms up with min(m, p - s - 1) forwards, then alternates forward and backward, then
//          drains: at most p - s in flight. Same bubble, (p-1) (t_f + t_b).
//   Interleaved  v chunks per stage; bubble divided by v. Micro-batches in groups of p: a group passes chunk 0,
//          then chunk 1, ...; backwards the other way. Stage s warms up with min(m v, 2 (p-s-1) + (v-1) p)
//          forwards (Megatron-LM, pipeline_parallel/schedules.py), then as 1F1B.
#pragma once

#include <cstdint>
#include <vector>

#include "core/layout/layout.h"

namespace trainyard {

enum class SlotKind : std::uint8_t { kForward, kBackwardInput, kBackwardWeight };

struct Slot {
  SlotKind kind = SlotKind::kForward;
  int microbatch = 0;
  int chunk = 0;  // on this stage: 0 .. chunks_per_stage - 1
  friend bool operator==(const Slot&, const Slot&) = default;
};

// In all three, a micro-batch's BackwardInput slot is followed at once by its BackwardWeight slot.
// Throws Error for kInterleaved with microbatches % stages != 0 or chunks == 1, for the others with chunks > 1.
std::vector<Slot> stage_schedule(ScheduleKind kind, int stages, int stage, int chunks, int microbatches);

// Micro-batches whose forward has run and whose backward has not, at the worst moment; of each chunk for itself.
int peak_in_flight(const std::vector<Slot>& slots);

}  // namespace trainyard
