// RunSupervisor: carries a run through failures: starts its processes, and after a failure starts them again from the
// last good checkpoint, until the run is complete or the plan's restart limit is reached.
//
// Each start is a generation. The record's lines between two generations are written here, while no rank runs.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "core/plan/plan.h"
#include "executor/checkpoint/checkpoint_folder.h"
#include "executor/run/launch_run.h"
#include "executor/run/run_files.h"
#include "executor/supervisor/kill_clock.h"
#include "executor/supervisor/local_launcher.h"

namespace trainyard::executor {

class RunSupervisor {
 public:
  // References must outlive it. The run's folder is held and holds the plan.
  RunSupervisor(const Plan& plan, RunOptions options, std::filesystem::path executable, const RunCallbacks& callbacks);

  RunOutcome run();

 private:
  using Clock = std::chrono::steady_clock;

  // Goes back to the last good checkpoint, saying which are not. A resumed run has one, unless it ended before its
  // first.
  void choose_checkpoint();
  void require_same_beginning() const;
  LaunchResult launch();
  RunFailure describe(const LaunchResult& result) const;
  std::optional<std::string> why_not_again(const RunFailure& failure);  // the reason to give up
  void prepare_restart(const RunFailure& failure, const LaunchFailure& noticed);
  void notice(const std::string& text) const;
  bool begun() const;  // the record has a line

  const Plan& plan_;
  RunOptions options_;
  std::filesystem::path executable_;
  const RunCallbacks& callbacks_;
  RunFiles files_;
  std::unique_ptr<KillClock> kills_;
  std::int64_t restarts_ = 0;
  std::optional<std::int64_t> failed_step_;
  std::int64_t same_step_failures_ = 0;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace trainyard::executor
