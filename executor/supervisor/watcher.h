// Watcher: a rank's thread that waits for the job's abort key and publishes the rank's heartbeat and progress.
//
// When the key appears, or the store is lost (the launcher died), it calls on_abort once, with the reason;
// that is where Communicator::abort() goes. on_abort runs on the watcher's thread.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "executor/supervisor/rank_environment.h"
#include "executor/supervisor/rank_progress.h"
#include "executor/supervisor/store_client.h"

namespace trainyard::executor {

class Watcher {
 public:
  using OnAbort = std::function<void(const std::string& why)>;

  // Connects to the store on its own. Throws Error if it can't. `progress` is asked on the watcher's thread.
  Watcher(const RankEnvironment& rank, OnAbort on_abort,
          std::chrono::milliseconds heartbeat_interval = std::chrono::seconds(1),
          std::function<RankProgress()> progress = {});
  ~Watcher();  // stops; on_abort is not called for that
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

 private:
  void watch();

  StoreClient store_;
  std::string abort_key_;
  std::string heartbeat_key_;
  std::string progress_key_;
  OnAbort on_abort_;
  std::chrono::milliseconds heartbeat_interval_;
  std::function<RankProgress()> progress_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace trainyard::executor
