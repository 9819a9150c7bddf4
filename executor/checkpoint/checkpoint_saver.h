// CheckpointSaver: saves a rank's part of each checkpoint while training goes on.
//
// begin() copies the saved slices to host memory, which blocks the step, and returns; a thread then writes the rank's
// file and reports it in the job's store. On rank 0 that thread waits for all ranks' reports, writes the manifest,
// which makes the checkpoint complete, and removes old ones. Nothing that goes wrong here ends the run: the outcome
// says so, and an incomplete checkpoint is removed.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/plan/run_record.h"
#include "executor/checkpoint/manifest.h"
#include "executor/checkpoint/shard_file.h"
#include "executor/device/device.h"
#include "executor/supervisor/rank_environment.h"
#include "executor/supervisor/store_client.h"

namespace trainyard::executor {

struct CheckpointSaverOptions {
  std::filesystem::path checkpoints;  // the folder of all
  std::int64_t keep = 2;
  bool asynchronous = true;  // else the caller waits for each save's end
  // Filled in by the run; the saver adds step, loss scale and parts.
  CheckpointManifest manifest;
  // Called on the saver's thread of rank 0 when a save has ended, well or not.
  std::function<void(const SaveRecord& save)> on_end;
};

class CheckpointSaver {
 public:
  // Connects to the store on its own. `state` as Worker::state() gives it; its memory must outlive begin()'s return.
  CheckpointSaver(Device& device, const RankEnvironment& environment, const std::vector<StateSlice>& state,
                  CheckpointSaverOptions options);
  ~CheckpointSaver();  // abandons a save in progress; wait() first to let it end
  CheckpointSaver(const CheckpointSaver&) = delete;
  CheckpointSaver& operator=(const CheckpointSaver&) = delete;

  // A save is being written, or on rank 0 waits for the others'.
  bool busy() const { return busy_; }

  // Snapshots the state after `step` steps. Not while busy. All ranks call it between the same steps.
  void begin(std::int64_t step, const std::optional<LossScaleState>& loss_scale = {});
  void wait();

 private:
  void save();                      // on the thread
  void complete(SaveRecord& save);  // rank 0
  CheckpointPart take_report(int rank, SaveRecord& save);
  std::string report_key(int rank) const;
  std::filesystem::path folder() const;

  Device& device_;
  RankEnvironment environment_;
  CheckpointSaverOptions options_;
  StoreClient store_;
  Snapshot snapshot_;
  double blocking_ = 0;  // seconds, of the last snapshot
  std::atomic<bool> busy_ = false;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace trainyard::executor
