// Schedule: the order in which a pipeline stage runs the passes of its micro-batches.
//
// With p stages and m micro-batches (Narayanan et al. 2021, section 2.2):
//   GPipe  all m forwards, then all m backwards in reverse: m micro-batches in flight.
//   1F1B   stage s warms up with min(m, p - s - 1) forwards, then alternates forward and backward, then
//          drains: at most p - s in flight. Same bubble, (p-1) (t_f + t_b).
//   Interleaved  v chunks per stage; bubble divided by v.
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

// GPipe and 1F1B schedule a micro-batch's two backward halves one after the other.
// Throws Error for kInterleaved with microbatches % stages != 0 or chunks == 1.
std::vector<Slot> stage_schedule(ScheduleKind kind, int stages, int stage, int chunks, int microbatches);

// Micro-batches whose forward has run and whose backward has not, at the worst moment.
int peak_in_flight(const std::vector<Slot>& slots);

}  // namespace trainyard
