// A run as the command line starts it: the ranks as processes of this host or others, and the run's folder.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "core/plan/plan.h"
#include "core/plan/run_record.h"
#include "executor/run/run_options.h"

namespace trainyard::executor {

struct RunOutcome {
  std::optional<RunFailure> failure;
  std::optional<int> interrupted_by;  // the signal, if a user ended the run
  std::int64_t restarts = 0;
  std::optional<std::int64_t> resumed_after;  // a resumed run: so many steps were done before
  bool ok() const { return !failure && !interrupted_by; }
};

struct RunCallbacks {
  std::function<void(const std::string& line)> on_record;             // of the run record, as it comes
  std::function<void(int rank, const std::string& line)> on_message;  // what ranks say on standard error
  std::function<void(const std::string& text)> on_notice;             // what the launcher says: failures, restarts
};

constexpr int kMostThreads = 1024;  // of a rank; more than the cores of any host of today is a slip

// The number of threads that fills the machine: its cores, shared out evenly.
int threads_per_rank(std::int64_t ranks);

// Starts `executable rank ARGUMENTS` once per rank of the plan and waits for all of them, starting them again by the
// plan's recovery policy (run_supervisor.h). Before that it checks what would fail on every rank: the plan against
// what the device can run, the data, the weights, and last the folder (run_folder.h), so that an earlier run goes only
// for one that can start; those throw Error, as does a run to be resumed whose checkpoints don't belong to this plan
// and data. What fails later is in the outcome and in the record's end line. The hidden verb `rank` calls rank_main().
RunOutcome launch_run(const Plan& plan, const RunOptions& options, const std::filesystem::path& executable,
                      const RunCallbacks& callbacks);

// The process of one rank: `arguments` are those after the verb. Prints the record's lines on standard output.
void rank_main(const std::vector<std::string>& arguments);

}  // namespace trainyard::executor
