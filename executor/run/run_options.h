// RunOptions: how to run a plan; what the launcher hands to each rank's process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/units/quantity.h"
#include "executor/run/device_choice.h"
#include "executor/run/injected_faults.h"
#include "executor/supervisor/rank_hosts.h"

namespace trainyard::executor {

// What one start of a run's processes is told beside the user's options.
struct GenerationOptions {
  std::int64_t number = 0;
  std::optional<std::int64_t> checkpoint;  // go on from this one: so many steps are done
  bool restarts = false;                   // the run's record has been begun
  std::optional<std::int64_t> failed_at;   // ns of CLOCK_MONOTONIC, when the failure before it was noticed
  double check_time = 0;                   // seconds that the launcher took to verify the checkpoint
  std::string data_hash;                   // of all the text
};

// In the header of a run's record, among the inputs: the folder of the weights that it began with; absent: random.
constexpr const char* kInitialWeightsInput = "initial_weights";

struct RunOptions {
  std::filesystem::path folder;                          // of the run, see run_files.h
  std::filesystem::path data;                            // raw text
  std::optional<std::filesystem::path> initial_weights;  // folder in Hugging Face's form; unset: random
  std::optional<std::int64_t> steps;                     // stop earlier than the plan says
  DeviceChoice device;
  int threads_per_rank = 1;
  int traced_steps = 3;  // the last ones; trace.json holds the one of median duration. 0: no trace
  std::optional<std::int64_t> evaluate_every;  // steps; the held-back text is always evaluated at the end
  std::int64_t evaluation_batches = 8;         // at most, of as many sequences as a step
  std::optional<FlopsPerSecond> peak_rate;     // of one rank, what MFU divides by
  bool save_model = true;
  bool graphs = false;  // steps' repeated parts as CUDA graphs
  InjectedFaults faults;
  GenerationOptions generation;  // the launcher's to fill in
  // The launcher's business, not the ranks':
  bool replace = false;   // an earlier run in the folder
  bool resume = false;    // go on with the run in the folder
  bool or_begin = false;  // beside resume: where the folder holds none yet, begin it (a job script's first start)
  RankHosts hosts;
};

// The path from the root, the same file from any working directory: ranks on other hosts may have another, and a record
// outlives this one. Of what exists "." and ".." and a slash at the end are taken out, but for a ".." that a link makes
// lead elsewhere than it reads. Links stay: another host may resolve them otherwise.
std::filesystem::path whole_path(const std::filesystem::path& path);

// To the arguments after the hidden verb `rank`, and back. from_arguments throws Error naming the argument.
std::vector<std::string> to_arguments(const RunOptions& options);
RunOptions from_arguments(const std::vector<std::string>& arguments);

}  // namespace trainyard::executor
