// The process groups of one rank, as the communicator wants them.
#pragma once

#include <vector>

#include "core/program/program.h"
#include "executor/communicator/communicator.h"

namespace trainyard::executor {

// Indexed by GroupId. Keys: kind * ranks + first member, so that the groups of one kind, which partition the
// ranks, differ, and a training and an evaluation program agree on them.
std::vector<GroupHandle> group_table(const Program& program, Rank rank);

}  // namespace trainyard::executor
