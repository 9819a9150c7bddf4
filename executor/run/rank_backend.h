// RankBackend: a rank's device and communicator, made to fit each other.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "executor/communicator/communicator.h"
#include "executor/device/device.h"
#include "executor/run/device_choice.h"
#include "executor/supervisor/rank_environment.h"
#include "executor/supervisor/store_client.h"

namespace trainyard::executor {

struct BackendOptions {
  DeviceChoice choice;
  int threads = 1;                                              // of the CPU device
  std::function<void()> on_failure;                             // of enqueued work; on any thread
  std::chrono::milliseconds timeout = std::chrono::minutes(5);  // of one wait for a peer
};

class RankBackend {
 public:
  // Blocks until all ranks are connected.
  RankBackend(const RankEnvironment& environment, const BackendOptions& options);

  Device& device() { return *device_; }
  Communicator& communicator() { return *communicator_; }

 private:
  StoreClient store_;  // the communicator's own: it uses it at any time
  std::unique_ptr<Device> device_;
  std::unique_ptr<Communicator> communicator_;
};

// What the ranks' processes need in their environment, NAME=VALUE.
std::vector<std::string> backend_environment(const DeviceChoice& choice, bool fixed_order, bool one_host);

}  // namespace trainyard::executor
