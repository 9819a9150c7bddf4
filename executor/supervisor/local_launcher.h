// Starts the ranks of a job as processes of this host, or by its command on others, and ends all of them when one
// fails.
//
// The launcher serves the store. A rank fails by ending with anything but exit status 0, by missing its heartbeat
// (watcher.h), or by making no progress although its process is alive; of ranks that stand still together, the one
// that is behind, or that doesn't wait for another, is the cause. Then, in this order: the abort key is set, so that
// the other ranks' watchers release them and they can say what they were doing; after terminate_after they get SIGTERM;
// after kill_after more, SIGKILL. SIGINT or SIGTERM to the launcher ends the ranks in the same way with more patience;
// a second one at once. When launch_local() returns every rank has been reaped; if the launcher is killed, the kernel
// kills the ranks.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "executor/supervisor/child_process.h"
#include "executor/supervisor/kill_clock.h"
#include "executor/supervisor/rank_hosts.h"

namespace trainyard::executor {

struct LaunchOptions {
  std::vector<std::string> command;  // argv of every rank; the first is a path
  int ranks = 1;
  RankHosts hosts;
  std::string job = "job";
  std::int64_t generation = 0;           // of a job's processes: in the prefix of the store's keys
  std::vector<std::string> environment;  // NAME=VALUE, added to this process's
  // Called as output arrives, for every rank. Who prints rank 0's sees the run's progress.
  std::function<void(int rank, OutputStream stream, std::string_view bytes)> on_output;
  // The exit status of a rank that ended because another did: such a rank is the cause only if none is.
  std::optional<int> consequence_exit;
  // A rank that has beaten once and then not for so long has failed. Unset: not looked at.
  std::optional<std::chrono::milliseconds> heartbeat_timeout;
  // Ranks that publish no progress for so long, counted from their start on, have failed. Unset: not looked at.
  std::optional<std::chrono::milliseconds> hang_timeout;
  KillClock* kills = nullptr;  // kills ranks on purpose
  std::function<void(int rank)> on_kill;
  std::chrono::milliseconds terminate_after = std::chrono::milliseconds(200);
  std::chrono::milliseconds kill_after = std::chrono::milliseconds(300);
  std::chrono::milliseconds interrupt_patience = std::chrono::seconds(5);  // kill_after, for a user's signal
};

struct LaunchFailure {
  int rank = 0;                         // the first that failed
  std::string cause;                    // "killed by signal 9 (SIGKILL)", "exited with 3", "no heartbeat for ..."
  std::vector<std::string> last_lines;  // of its standard error
  std::optional<std::int64_t> step;     // that it was at, where it published that
  // Since it stopped working: for a rank killed on purpose and for one without heartbeat or progress.
  std::optional<std::chrono::milliseconds> detection;
  std::chrono::steady_clock::time_point noticed_at;
};

struct LaunchResult {
  std::vector<std::string> exits;  // by rank, how each ended
  std::optional<LaunchFailure> failure;
  std::optional<int> interrupted_by;    // the signal, if a user ended the run
  std::chrono::milliseconds ending{0};  // from the first failure or signal to the last rank's end
  bool ok() const { return !failure && !interrupted_by; }
};

// Call it from a thread that outlives the ranks: its end would kill them. Throws Error if a rank can't be
// started.
LaunchResult launch_local(const LaunchOptions& options);

}  // namespace trainyard::executor
