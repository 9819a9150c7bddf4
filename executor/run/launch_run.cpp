#include "executor/run/launch_run.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

#include "core/error.h"
#include "executor/checkpoint/model_weights.h"
#include "executor/communicator/peer_lost.h"
#include "executor/data/byte_text.h"
#include "executor/run/cpu_capabilities.h"
#include "executor/run/run_files.h"
#include "executor/run/run_folder.h"
#include "executor/run/run_rank.h"
#include "executor/run/step_trace.h"
#include "executor/supervisor/local_launcher.h"
#include "executor/supervisor/rank_environment.h"

namespace trainyard::executor {

namespace {

namespace fs = std::filesystem;

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

void check_before_launch(const Plan& plan, const RunOptions& options) {
  validate(plan, "plan");
  if (const auto obstacle = why_not(cpu_capabilities(), plan.model, plan.layout)) {
    throw Error("the CPU executor can't run it: " + obstacle->detail, "plan",
                "simulate it, or choose another layout with `trainyard plan`");
  }
  if (plan.model.vocabulary < kByteVocabulary) {
    throw Error("vocabulary of " + std::to_string(plan.model.vocabulary) + " is too small for bytes", "plan",
                "raw text needs at least 256 tokens");
  }
  const ByteText text(options.data, plan.training.sequence);
  if (options.initial_weights) {
    open_weights(*options.initial_weights, plan.model);
  }
}

void merge_rank_traces(const RunFiles& files, std::int64_t ranks) {
  std::vector<Trace> parts;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const fs::path file = files.rank_trace(Rank(rank));
    if (!fs::exists(file)) {
      return;  // not asked for
    }
    parts.push_back(read_trace(file));
  }
  write_trace(merge_traces(parts), files.trace());
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    fs::remove(files.rank_trace(Rank(rank)));
  }
}

std::optional<RunFailure> run_failure(const LaunchResult& result, const RunFiles& files) {
  if (result.ok()) {
    return std::nullopt;
  }
  RunFailure failure;
  if (result.failure) {
    failure.rank = Rank(result.failure->rank);
    failure.cause = result.failure->cause;
    failure.last_lines = result.failure->last_lines;
  } else {
    failure.cause = "ended by signal " + std::to_string(*result.interrupted_by);
  }
  const bool begun = fs::exists(files.record()) && fs::file_size(files.record()) > 0;
  if (begun) {
    const RunRecord record = read_run_record(files.record());
    failure.step = record.steps.empty() ? 0 : record.steps.back().step + 1;
  }
  return failure;
}

}  // namespace

int threads_per_rank(std::int64_t ranks) {
  const auto cores = static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  return static_cast<int>(std::max(std::int64_t{1}, cores / ranks));
}

RunOutcome launch_run(const Plan& plan, const RunOptions& options, const fs::path& executable,
                      const RunCallbacks& callbacks) {
  const RunFiles files{options.folder};
  check_before_launch(plan, options);
  const RunFolder held(files, options.replace);
  write_plan(plan, files.plan());

  LaunchOptions launch;
  launch.command = {executable.string(), "rank"};
  const std::vector<std::string> arguments = to_arguments(options);
  launch.command.insert(launch.command.end(), arguments.begin(), arguments.end());
  launch.ranks = static_cast<int>(plan.layout.ranks());
  // Kernels thread over our own pool; a BLAS with threads of its own would fight it for the cores.
  launch.consequence_exit = kPeerLostExit;
  launch.environment = {"OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1"};
  LineSplitter lines;
  launch.on_output = [&](int rank, OutputStream stream, std::string_view bytes) {
    lines.add(rank, stream, bytes, [&](const std::string& line) {
      if (stream == OutputStream::kOut && rank == 0 && callbacks.on_record) {
        callbacks.on_record(line);
      } else if (stream == OutputStream::kErr && callbacks.on_message) {
        callbacks.on_message(rank, line);
      }
    });
  };
  const LaunchResult result = launch_local(launch);

  RunOutcome outcome{.failure = run_failure(result, files), .interrupted_by = result.interrupted_by};
  if (outcome.ok()) {
    merge_rank_traces(files, plan.layout.ranks());
  }
  LineFile(files.record()).append(end_json_line(outcome.failure));
  return outcome;
}

void rank_main(const std::vector<std::string>& arguments) {
  const RunOptions options = from_arguments(arguments);
  const auto environment = rank_environment();
  if (!environment) {
    throw Error("is started by the launcher only", "rank", "use `trainyard run`");
  }
  const Plan plan = read_plan(RunFiles{options.folder}.plan());
  run_rank(plan, options, *environment, [](const std::string& line) {
    std::fputs(line.c_str(), stdout);
    std::fflush(stdout);
  });
}

}  // namespace trainyard::executor
