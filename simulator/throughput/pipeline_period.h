// What a further micro-batch adds to a pipeline's step that is filled and drained.
//
//   p = the busiest stage's work; under GPipe the longest forward and the longest backward, of whatever stages; under
//   1F1B at least max over s of (sum over j >= s of t_j + 2 (pp - 1 - s) x)/(pp - s): stage s has pp - s micro-batches
//   under way to the last stage and back, x a transfer
//
// Where interleaved chunks are longest on different stages no stage's work says it: play a few groups of pp
// micro-batches.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/throughput/pass_times.h"

namespace trainyard::simulator {

double period(const PipelineShape& shape, const std::vector<PassTimes>& passes, double transfer);

// Micro-batches beyond which another adds a period, in stages.
std::int64_t settled(ScheduleKind kind);

// Interleaved chunks that are longest on different stages hold each other up: no stage's own work says how long a group
// of micro-batches takes.
bool held_up_by_chunks(const PipelineShape& shape, const std::vector<PassTimes>& passes);

}  // namespace trainyard::simulator
