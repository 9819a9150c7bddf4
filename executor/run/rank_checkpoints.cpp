#include "executor/run/rank_checkpoints.h"

#include <fmt/core.h>

#include <cstdio>
#include <utility>

#include "core/error.h"
#include "executor/checkpoint/load_state.h"

namespace trainyard::executor {

RankCheckpoints::RankCheckpoints(const Plan& plan, const RunOptions& options, const RankEnvironment& environment,
                                 Worker& worker, RankConnection& connection, OnEnd on_end)
    : plan_(plan),
      options_(options),
      worker_(worker),
      connection_(connection),
      files_{options.folder},
      says_when_late_(environment.rank == 0) {
  if (plan.checkpoint.every_steps) {
    saver_ = std::make_unique<CheckpointSaver>(connection.device(), environment, worker.state(),
                                               CheckpointSaverOptions{.checkpoints = files_.checkpoints(),
                                                                      .keep = plan.checkpoint.keep,
                                                                      .asynchronous = plan.checkpoint.asynchronous,
                                                                      .manifest = manifest(),
                                                                      .on_end = std::move(on_end)});
  }
}

CheckpointManifest RankCheckpoints::manifest() const {
  CheckpointManifest manifest;
  manifest.identity = checkpoint_identity(plan_, worker_.program().hash, options_.generation.data_hash);
  manifest.threads_per_rank = options_.threads_per_rank;
  manifest.provenance.version = tool_version();
  return manifest;
}

void RankCheckpoints::load(std::int64_t steps) {
  const std::filesystem::path folder = files_.checkpoint(steps);
  const CheckpointManifest manifest = read_manifest(folder);
  load_state(connection_.device(), worker_.state(), folder, manifest);
  if (worker_.loss_scale()) {
    if (!manifest.loss_scale) {
      throw Error("holds no loss scale, which an fp16 run goes on with", folder.string(),
                  "resume from an older checkpoint, or start anew");
    }
    worker_.set_loss_scale(*manifest.loss_scale);
  }
}

// A run that stops before its plan's end saves there, so that it can be resumed; a whole one has its final weights.
bool RankCheckpoints::due(std::int64_t done, bool last) const {
  return last ? done < plan_.training.steps : done % *plan_.checkpoint.every_steps == 0;
}

void RankCheckpoints::after_step(std::int64_t done, bool anyone_busy, bool last) {
  if (saver_ == nullptr) {
    return;
  }
  due_ = due_ || due(done, last);
  if (last && due(done, last) && anyone_busy) {
    saver_->wait();
    connection_.communicator().barrier();
    anyone_busy = false;
  }
  if (due_ && anyone_busy && says_when_late_) {
    says_when_late_ = false;
    fmt::print(
        stderr,
        "the checkpoint due after step {} waits until the one before is written, and so do later ones: saves take "
        "longer than the steps between them\n",
        done);
  }
  if (!due_ || anyone_busy) {
    return;
  }
  due_ = false;
  saver_->begin(done, worker_.loss_scale());
  if (!plan_.checkpoint.asynchronous) {
    saver_->wait();
    connection_.communicator().barrier();
  }
}

void RankCheckpoints::finish() {
  if (saver_ != nullptr) {
    saver_->wait();
  }
}

}  // namespace trainyard::executor
