// Measured traces: a rank's clocks as slices, and the ranks' slices as one trace.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/trace.h"
#include "core/program/program.h"
#include "executor/device/device.h"

namespace trainyard::executor {

// Slices of one rank with the device clock's times; duration is left 0.
Trace rank_trace(const Program& program, Rank rank, std::int64_t step, const std::vector<SliceClock>& clocks);

// One trace of the ranks' parts, which share a clock: times from the first begin, slices by rank, then begin.
Trace merge_traces(const std::vector<Trace>& parts);

// Index of the median of these durations (the lower one of two); all ranks choose alike.
std::size_t median_index(const std::vector<Nanoseconds>& durations);

}  // namespace trainyard::executor
