#include "executor/calibration/process_baseline.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <system_error>

#include "core/document/write_file.h"
#include "core/error.h"
#include "core/plan/run_record.h"
#include "executor/run/run_files.h"

namespace trainyard::executor {

namespace {

class TemporaryFolder {
 public:
  TemporaryFolder() : path_((std::filesystem::temp_directory_path() / "trainyard-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) {
      throw Error("can't be made", path_, "set TMPDIR to a folder with room");
    }
  }
  ~TemporaryFolder() {
    std::error_code ignored;  // a leftover in the temporary folder is no reason to fail
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::filesystem::path path() const { return path_; }

 private:
  std::string path_;
};

// Every segment on every rank. Large enough for the products' packing buffers to have their usual size.
Plan small_plan(int ranks) {
  Plan plan;
  plan.model.name = "baseline";
  plan.model.layers = 2;
  plan.model.hidden = 384;
  plan.model.feed_forward = 1024;
  plan.model.heads = 6;
  plan.model.key_value_heads = 6;
  plan.model.head_size = 64;
  plan.model.vocabulary = 256;
  plan.model.positions = 256;
  plan.cluster = {.name = "local", .ranks_per_node = ranks, .device = "cpu"};
  plan.layout.data = ranks;
  plan.layout.zero_stage = 1;
  plan.layout.micro_batch = 2;
  plan.layout.accumulation = 2;
  plan.training.sequence = 256;
  plan.training.global_batch = plan.layout.sequences_per_step();
  plan.training.steps = 4;
  return plan;
}

std::string any_text() {
  constexpr std::size_t kBytes = 64 << 10;
  std::string text;
  while (text.size() < kBytes) {
    text += std::to_string(text.size()) + (text.size() % 7 == 0 ? '\n' : ' ');
  }
  return text;
}

}  // namespace

ProcessBaseline measure_process_baseline(int ranks, int threads_per_rank, const std::filesystem::path& executable) {
  const TemporaryFolder folder;
  RunOptions options;
  options.folder = folder.path() / "run";
  options.data = folder.path() / "text";
  options.threads_per_rank = threads_per_rank;
  options.evaluation_batches = 1;
  options.save_model = false;
  write_file(options.data, any_text());
  ProcessBaseline baseline;
  baseline.outcome = launch_run(small_plan(ranks), options, executable, {});
  if (baseline.outcome.ok()) {
    for (const RankCounts& counts : read_run_record(RunFiles{options.folder}.record()).counts) {
      baseline.bytes = std::max(baseline.bytes, counts.resident_peak - counts.buffers_allocated);
    }
  }
  return baseline;
}

}  // namespace trainyard::executor
