// What one rank's process does in a run: connect, train, evaluate, save.
#pragma once

#include <functional>
#include <string>

#include "core/plan/plan.h"
#include "executor/run/run_options.h"
#include "executor/supervisor/rank_environment.h"

namespace trainyard::executor {

// Takes each line of the run record, newline included, as it is written; called on rank 0 only.
using RecordSink = std::function<void(const std::string& line)>;

// Returns when the run is complete and its files are written. Throws Error: data or weights that can't be
// used, a lost peer, an abandoned run; the message names rank and step.
void run_rank(const Plan& plan, const RunOptions& options, const RankEnvironment& environment, const RecordSink& sink);

}  // namespace trainyard::executor
