// RankCheckpoints: a rank's part in the run's checkpoint policy: when to save, and going on from a checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "core/plan/plan.h"
#include "core/plan/run_record.h"
#include "executor/checkpoint/checkpoint_saver.h"
#include "executor/run/rank_connection.h"
#include "executor/run/run_files.h"
#include "executor/run/run_options.h"
#include "executor/supervisor/rank_environment.h"
#include "executor/worker/worker.h"

namespace trainyard::executor {

class RankCheckpoints {
 public:
  using OnEnd = std::function<void(const SaveRecord& save)>;  // on another thread, rank 0 only

  // References must outlive it.
  RankCheckpoints(const Plan& plan, const RunOptions& options, const RankEnvironment& environment, Worker& worker,
                  RankConnection& connection, OnEnd on_end);

  // Parameters and moments after so many steps, from the run's folder.
  void load(std::int64_t steps);

  bool busy() const { return saver_ != nullptr && saver_->busy(); }
  // After each step. `anyone_busy`: some rank's last save isn't done; then a save that is due waits for a later step,
  // so that all ranks save the same ones.
  void after_step(std::int64_t done, bool anyone_busy, bool last);
  void finish();  // lets the last save end

 private:
  bool due(std::int64_t done, bool last) const;
  CheckpointManifest manifest() const;

  const Plan& plan_;
  const RunOptions& options_;
  Worker& worker_;
  RankConnection& connection_;
  RunFiles files_;
  std::unique_ptr<CheckpointSaver> saver_;  // none where the plan wants no checkpoints
  bool due_ = false;
  bool says_when_late_;  // rank 0, once
};

}  // namespace trainyard::executor
