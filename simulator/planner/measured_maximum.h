// The largest batch that a measured machine's executor can run without accumulating: micro-batch x dp x pp.
//
// As maximize() (maximize.h), but over what the executor runs, with memory from the programs' own buffers: a run of the
// plan allocates what is said here, and one of the next batch more than there is.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>

#include "simulator/planner/planner.h"

namespace trainyard::simulator {

struct MeasuredMaximum {
  std::int64_t batch = 0;  // sequences
  Estimate best;
  std::int64_t next = 0;
  std::optional<RuledOut> next_lacks;  // the layout that lacks least
};

// Nothing where a batch of one sequence fits under no layout. Throws Error as plan_layouts() does.
std::optional<MeasuredMaximum> largest_batch(const PlannerRequest& request, const DeviceProfile& profile,
                                             const std::stop_token& stop = {});

}  // namespace trainyard::simulator
