// MemoryOverStep: bytes that a role's buffers hold, by cause, over the time of a step.
//
//   held(t) = persistent buffers + transient ones whose first use has begun and whose last has not ended
//
// Times by instruction are a trace's, or an order's {i, i + 1}: then the most held is memory_profile()'s peak. The room
// that the arena keeps beyond (fragmentation) and the runtime's own don't change over the step and aren't in here.
#pragma once

#include <array>
#include <vector>

#include "core/plan/trace.h"
#include "core/plan/trace_times.h"
#include "core/program/program.h"

namespace trainyard::simulator {

struct MemoryMoment {
  Nanoseconds at = 0;  // from here to the next moment
  std::array<ByteCount, kMemoryCauses> by_cause{};
  ByteCount total() const;
};

// By time, each time once; the first at 0, the last where the step ends.
std::vector<MemoryMoment> memory_over_step(const Role& role, const std::vector<Interval>& times);

// When each of the role's instructions runs; {i, i + 1} where the trace has none of them.
std::vector<Interval> times_of(const Role& role, const Trace& trace);

}  // namespace trainyard::simulator
