// RankConnection: device and communicator of a rank, each of which stops the other when it fails, and the watcher that
// publishes the rank's progress.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "core/plan/recovery_policy.h"
#include "executor/communicator/communicator.h"
#include "executor/device/device.h"
#include "executor/run/rank_backend.h"
#include "executor/supervisor/rank_environment.h"
#include "executor/supervisor/store_client.h"
#include "executor/supervisor/watcher.h"

namespace trainyard::executor {

class RankConnection {
 public:
  RankConnection(const RankEnvironment& environment, const DeviceChoice& choice, int threads,
                 const RecoveryPolicy& recovery);
  ~RankConnection();
  RankConnection(const RankConnection&) = delete;
  RankConnection& operator=(const RankConnection&) = delete;

  Store& store() { return store_; }
  Device& device() { return backend_.device(); }
  Communicator& communicator() { return backend_.communicator(); }

  // The rank has got somewhere: it begins this step, or has done a piece of something that is no step.
  void begin_step(std::int64_t step);
  void tick() { ++ticks_; }

 private:
  void abort(const std::string& why);
  RankProgress progress() const;

  StoreClient store_;
  std::atomic<std::int64_t> ticks_ = 1;
  std::atomic<std::int64_t> step_ = 0;
  std::atomic<Communicator*> reachable_ = nullptr;
  RankBackend backend_;
  std::unique_ptr<Watcher> watcher_;
};

}  // namespace trainyard::executor
