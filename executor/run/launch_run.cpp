#include "executor/run/launch_run.h"

#include <algorithm>
#include <cstdio>
#include <thread>
#include <utility>

#include "core/error.h"
#include "executor/checkpoint/model_weights.h"
#include "executor/data/byte_text.h"
#include "executor/run/cuda_capabilities.h"
#include "executor/run/fp8_sides.h"
#include "executor/run/run_files.h"
#include "executor/run/run_folder.h"
#include "executor/run/run_rank.h"
#include "executor/run/run_supervisor.h"
#include "executor/run/step_trace.h"
#include "executor/supervisor/rank_environment.h"

namespace trainyard::executor {

namespace {

namespace fs = std::filesystem;

void check_recovery(const Plan& plan) {
  if (plan.recovery.kind != RecoveryKind::kRestartFromStorage) {
    throw Error("the executor can't recover by \"" + std::string(to_string(plan.recovery.kind)) +
                    "\", only by \"restart_from_storage\"",
                "plan#/recovery/kind", "simulate it, or change the plan's recovery");
  }
  if (!plan.recovery.detectors.empty()) {
    throw Error("the executor has no \"" + std::string(to_string(plan.recovery.detectors.front())) + "\" detector",
                "plan#/recovery/detectors", "simulate it, or take the detectors out of the plan's recovery");
  }
}

// Returns the hash of the data.
std::string check_before_launch(const Plan& plan, const RunOptions& options) {
  validate(plan, "plan");
  if (const auto obstacle = why_not(capabilities_of(options.device.kind), plan.model, plan.layout)) {
    throw Error("the executor can't run it: " + obstacle->detail, "plan",
                "simulate it, or choose another layout with `trainyard plan`");
  }
  if (options.device.kind == DeviceKind::kCuda) {
    require_fp8_sides(plan);
  }
  if (plan.model.vocabulary < kByteVocabulary) {
    throw Error("vocabulary of " + std::to_string(plan.model.vocabulary) + " is too small for bytes", "plan",
                "raw text needs at least 256 tokens");
  }
  check_recovery(plan);
  check_hosts(options.hosts, static_cast<int>(plan.layout.ranks()));
  check_steps(options.faults, options.steps.value_or(plan.training.steps));
  if (!options.faults.bit_flips.empty()) {
    check_faults(options.faults, compile(plan));
  }
  const ByteText text(options.data, plan.training.sequence);
  if (options.initial_weights) {
    open_weights(*options.initial_weights, plan.model);
  }
  const auto all = text.all();
  return content_hash({reinterpret_cast<const char*>(all.data()), all.size()});
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

FolderUse folder_use(const RunOptions& options) {
  if (options.resume) {
    return options.or_begin ? FolderUse::kContinueOrBegin : FolderUse::kContinue;
  }
  return options.replace ? FolderUse::kReplace : FolderUse::kNew;
}

bool lies_in(const fs::path& path, const fs::path& folder) {
  std::error_code unknown;
  const fs::path relative = fs::relative(path, folder, unknown);
  return !unknown && !relative.empty() && *relative.begin() != "..";
}

// What a run is made from can't lie among the files that it replaces.
void require_kept(const RunOptions& options, const RunFiles& files) {
  const auto check_path = [&](const fs::path& path, const char* flag) {
    for (const fs::path& replaced : {files.plan(), files.record(), files.trace(), files.model(), files.checkpoints()}) {
      if (lies_in(path, replaced)) {
        throw Error("would replace what the run begins with: " + path.string(), flag,
                    "another --output, or copy it elsewhere first");
      }
    }
  };
  check_path(options.data, "--data");
  if (options.initial_weights) {
    check_path(*options.initial_weights, "--init");
  }
}

// A run that has done what it was to do is not done again.
void require_unfinished(const Plan& plan, const RunOptions& options, const RunFiles& files) {
  const RunRecord record = read_run_record(files.record());
  const std::int64_t wanted = std::min(options.steps.value_or(plan.training.steps), plan.training.steps);
  const std::int64_t done = record.steps.empty() ? 0 : record.steps.back().step + 1;
  if (record.complete && done >= wanted) {
    throw Error("the run in it is complete: " + std::to_string(done) + " steps", files.folder.string(),
                done < plan.training.steps ? "give --steps to train further" : "there is nothing to resume");
  }
}

// A run that never began leaves no plan behind that wasn't there, so that the next start finds the folder as it was.
RunOutcome supervise(const Plan& plan, RunOptions options, const fs::path& executable, const RunCallbacks& callbacks) {
  const RunFiles files{options.folder};
  const bool had_plan = fs::exists(files.plan());
  write_plan(plan, files.plan());
  try {
    return RunSupervisor(plan, std::move(options), executable, callbacks).run();
  } catch (const Error&) {
    std::error_code unknown;
    if (!had_plan && !fs::exists(files.record(), unknown)) {
      fs::remove(files.plan(), unknown);
    }
    throw;
  }
}

}  // namespace

int threads_per_rank(std::int64_t ranks) {
  const auto cores = static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  return static_cast<int>(std::max(std::int64_t{1}, cores / ranks));
}

RunOutcome launch_run(const Plan& plan, const RunOptions& options, const fs::path& executable,
                      const RunCallbacks& callbacks) {
  const RunFiles files{options.folder};
  RunOptions own = options;
  own.folder = whole_path(options.folder);
  own.data = whole_path(options.data);
  if (options.initial_weights) {
    own.initial_weights = whole_path(*options.initial_weights);
  }
  own.generation.data_hash = check_before_launch(plan, options);
  if (options.replace) {
    require_kept(options, files);
  }
  const RunFolder held(files, folder_use(options));
  own.resume = options.resume && fs::exists(files.record());
  if (own.resume) {
    require_unfinished(plan, options, files);
  } else if (options.resume && callbacks.on_notice) {
    callbacks.on_notice("no run in " + files.folder.string() + " yet: begins one");
  }
  const RunOutcome outcome = supervise(plan, std::move(own), executable, callbacks);
  if (outcome.ok()) {
    merge_rank_traces(files, plan.layout.ranks());
  }
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
