// NcclWatch: a rank's thread that looks after its NCCL communicators while kernels run that no host thread waits for.
//
// Each poll_interval it asks the communicators for errors and the recorder for operations under way; every second it
// puts the rank's position into the store, where another rank's report of a hang reads it. The first failure or hang is
// handed to on_failure, once.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "executor/communicator/nccl/flight_recorder.h"
#include "executor/communicator/nccl/nccl_comms.h"
#include "executor/communicator/nccl/nccl_options.h"
#include "executor/supervisor/store.h"

namespace trainyard::executor {

class NcclWatch {
 public:
  using OnFailure = std::function<void(const std::string& why)>;

  // References must outlive it. on_failure runs on its thread.
  NcclWatch(NcclComms& comms, FlightRecorder& recorder, Store& store, Rank rank, const NcclOptions& options,
            OnFailure on_failure);
  ~NcclWatch();
  NcclWatch(const NcclWatch&) = delete;
  NcclWatch& operator=(const NcclWatch&) = delete;

 private:
  using Clock = FlightRecorder::Clock;
  void watch();
  std::optional<std::string> find_failure(Clock::time_point now);
  std::string describe_hang(const Flight& flight);
  void publish();
  std::optional<FlightPosition> position_of(Rank rank);  // nothing: unknown
  std::string key(Rank rank) const;

  NcclComms& comms_;
  FlightRecorder& recorder_;
  Store& store_;
  Rank rank_;
  NcclOptions options_;
  OnFailure on_failure_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace trainyard::executor
