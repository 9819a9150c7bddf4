#include "executor/run/run_supervisor.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "core/error.h"
#include "core/plan/run_record_tail.h"
#include "core/program/program.h"
#include "executor/communicator/peer_lost.h"
#include "executor/run/rank_backend.h"

namespace trainyard::executor {

namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

// In a row: chance hits one step so often only where nothing finishes anyway.
constexpr std::int64_t kMostFailuresInAStep = 5;

// Cuts each rank's output into lines.
class LineSplitter {
 public:
  using Take = std::function<void(const std::string& line)>;
  void add(int rank, OutputStream stream, std::string_view bytes, const Take& take) {
    std::string& rest = rests_[{rank, stream == OutputStream::kOut}];
    rest += bytes;
    std::size_t begin = 0;
    for (std::size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n', begin)) {
      take(rest.substr(begin, end - begin));
      begin = end + 1;
    }
    rest.erase(0, begin);
  }

 private:
  std::map<std::pair<int, bool>, std::string> rests_;
};

milliseconds in_milliseconds(Seconds time) { return milliseconds(static_cast<std::int64_t>(time.si() * 1e3)); }

Seconds in_seconds(std::chrono::steady_clock::duration time) {
  return from_si<Seconds>(std::chrono::duration<double>(time).count());
}

}  // namespace

RunSupervisor::RunSupervisor(const Plan& plan, RunOptions options, fs::path executable, const RunCallbacks& callbacks)
    : plan_(plan),
      options_(std::move(options)),
      executable_(std::move(executable)),
      callbacks_(callbacks),
      files_{options_.folder} {
  if (options_.faults.kills) {
    kills_ =
        std::make_unique<KillClock>(options_.faults.kills->mean, options_.faults.seed, options_.faults.kills->count);
  }
}

void RunSupervisor::notice(const std::string& text) const {
  if (callbacks_.on_notice) {
    callbacks_.on_notice(text);
  }
}

bool RunSupervisor::begun() const { return fs::exists(files_.record()) && fs::file_size(files_.record()) > 0; }

// Without a checkpoint the run begins again, and must do so with what it began with.
void RunSupervisor::require_same_beginning() const {
  if (!begun()) {
    return;
  }
  const auto& inputs = read_run_record(files_.record()).header.provenance.inputs;
  const auto began = inputs.find(kInitialWeightsInput);
  // Of the options the path is whole; records of earlier versions have it as it was given.
  const std::string before = began == inputs.end() ? std::string() : whole_path(began->second).string();
  const std::string now = options_.initial_weights ? options_.initial_weights->string() : std::string();
  if (before != now) {
    throw Error("the run has no checkpoint, and began with " + (before.empty() ? "random weights" : before), "--init",
                before.empty() ? "leave it out, or start the run anew with --force" : "give that folder again");
  }
}

void RunSupervisor::choose_checkpoint() {
  const auto begin = Clock::now();
  const CheckpointChoice choice = last_good_checkpoint(files_.checkpoints());
  for (const RefusedCheckpoint& refused : choice.refused) {
    notice(fmt::format("checkpoint {} is not used: {}", refused.folder.filename().string(), refused.why));
  }
  if (choice.manifest) {
    const fs::path folder = files_.checkpoint(choice.manifest->step);
    const CheckpointIdentity own = checkpoint_identity(plan_, compile(plan_).hash, options_.generation.data_hash);
    require_same(own, choice.manifest->identity, folder.string());
    if (choice.manifest->threads_per_rank != options_.threads_per_rank) {
      notice(fmt::format("it was saved with {} threads per rank and goes on with {}: the last bits may differ",
                         choice.manifest->threads_per_rank, options_.threads_per_rank));
    }
    options_.generation.checkpoint = choice.manifest->step;
  } else if (options_.resume && restarts_ == 0 && !choice.refused.empty()) {
    throw Error("holds no good checkpoint", files_.checkpoints().string(), "start the run anew with --force");
  } else {
    require_same_beginning();
    options_.generation.checkpoint.reset();
  }
  set_aside(choice.refused);
  options_.generation.check_time = in_seconds(Clock::now() - begin).si();
}

LaunchResult RunSupervisor::launch() {
  LaunchOptions launch;
  launch.command = {executable_.string(), "rank"};
  const std::vector<std::string> arguments = to_arguments(options_);
  launch.command.insert(launch.command.end(), arguments.begin(), arguments.end());
  launch.ranks = static_cast<int>(plan_.layout.ranks());
  launch.hosts = options_.hosts;
  launch.generation = options_.generation.number;
  launch.consequence_exit = kPeerLostExit;
  launch.heartbeat_timeout = in_milliseconds(plan_.recovery.heartbeat_timeout);
  launch.hang_timeout = in_milliseconds(plan_.recovery.hang_timeout);
  launch.kills = kills_.get();
  launch.on_kill = [this](int rank) { notice(fmt::format("injected: SIGKILL to rank {}", rank)); };
  launch.environment = backend_environment(options_.device, plan_.layout.strict_reduction, options_.hosts.count() == 1);
  LineSplitter lines;
  launch.on_output = [&](int rank, OutputStream stream, std::string_view bytes) {
    lines.add(rank, stream, bytes, [&](const std::string& line) {
      if (stream == OutputStream::kOut && rank == 0 && callbacks_.on_record) {
        callbacks_.on_record(line);
      } else if (stream == OutputStream::kErr && callbacks_.on_message) {
        callbacks_.on_message(rank, line);
      }
    });
  };
  return launch_local(launch);
}

RunFailure RunSupervisor::describe(const LaunchResult& result) const {
  RunFailure failure;
  if (result.failure) {
    failure.rank = Rank(result.failure->rank);
    failure.cause = result.failure->cause;
    failure.last_lines = result.failure->last_lines;
  } else {
    failure.cause = "ended by signal " + std::to_string(*result.interrupted_by);
  }
  if (begun()) {
    failure.step = steps_done(files_.record());
  }
  return failure;
}

std::optional<std::string> RunSupervisor::why_not_again(const RunFailure& failure) {
  same_step_failures_ = failure.step == failed_step_ ? same_step_failures_ + 1 : 1;
  failed_step_ = failure.step;
  if (!plan_.checkpoint.every_steps) {
    return "the plan keeps no checkpoints to start again from";
  }
  if (restarts_ >= plan_.recovery.restart_limit) {
    return fmt::format("the plan's restart_limit of {} is reached", plan_.recovery.restart_limit);
  }
  if (same_step_failures_ >= kMostFailuresInAStep) {
    return fmt::format("it failed {} times in a row in the same step", same_step_failures_);
  }
  return std::nullopt;
}

void RunSupervisor::prepare_restart(const RunFailure& failure, const LaunchFailure& noticed) {
  GenerationOptions& generation = options_.generation;
  generation.restarts = begun();
  if (generation.restarts) {
    FailureRecord line{.generation = generation.number,
                       .failure = failure,
                       .at = in_seconds(noticed.noticed_at - begin_),
                       .detection_time = {}};
    if (noticed.detection) {
      line.detection_time = in_seconds(*noticed.detection);
    }
    LineFile(files_.record()).append(to_json_line(line));
    if (callbacks_.on_record) {
      callbacks_.on_record(to_json_line(line));
    }
  }
  options_.faults = still_to_come(options_.faults, failure.step.value_or(-1));
  ++restarts_;
  ++generation.number;
  generation.failed_at =
      std::chrono::duration_cast<std::chrono::nanoseconds>(noticed.noticed_at.time_since_epoch()).count();
  notice(fmt::format("rank {} failed in step {}: {}", noticed.rank, failure.step.value_or(0) + 1, failure.cause));
  choose_checkpoint();
  notice(fmt::format("restart {} of at most {}, {}", restarts_, plan_.recovery.restart_limit,
                     generation.checkpoint ? fmt::format("from the checkpoint after step {}", *generation.checkpoint)
                                           : std::string("from the beginning: there is no checkpoint yet")));
}

RunOutcome RunSupervisor::run() {
  std::optional<std::int64_t> resumed_after;
  if (options_.resume) {
    options_.generation.restarts = begun();
    choose_checkpoint();
    resumed_after = options_.generation.checkpoint.value_or(0);
    notice(*resumed_after > 0 ? fmt::format("going on from the checkpoint after step {}", *resumed_after)
                              : std::string("from the beginning: the run in it ended before its first checkpoint"));
  }
  while (true) {
    const LaunchResult result = launch();
    RunOutcome outcome{
        .failure = {}, .interrupted_by = result.interrupted_by, .restarts = restarts_, .resumed_after = resumed_after};
    if (!result.ok()) {
      outcome.failure = describe(result);
    }
    if (result.failure && !result.interrupted_by) {
      const std::optional<std::string> reason = why_not_again(*outcome.failure);
      if (!reason) {
        prepare_restart(*outcome.failure, *result.failure);
        continue;
      }
      if (plan_.checkpoint.every_steps) {
        outcome.failure->cause += "; not started again: " + *reason;
      }
    }
    LineFile(files_.record()).append(end_json_line(outcome.failure, in_seconds(Clock::now() - begin_)));
    return outcome;
  }
}

}  // namespace trainyard::executor
