// Calibration: what all ranks of this machine measure together, for one way of sharing it.
//
// The ranks go through the same cases in lock-step (the communicator's barrier), so that they compete for
// cores, caches and memory as the ranks of a run do. A time is the median over repeats; of the ranks' medians
// the slowest counts, because a step waits for its slowest rank.
#pragma once

#include <functional>
#include <string>

#include "core/plan/device_profile.h"
#include "executor/communicator/communicator.h"
#include "executor/device/device.h"
#include "executor/run/device_choice.h"

namespace trainyard::executor {

struct CalibrationOptions {
  DeviceChoice device;
  int threads_per_rank = 1;
  bool quick = false;  // fewer repeats: noisier, several times faster
};

// share: of all the work, 0 to 1. what: "products, attention, passes".
using CalibrationProgress = std::function<void(double share, const std::string& what)>;

struct Calibration {
  Concurrency concurrency;
  double noise = 0.0;  // median over kernels of (median - minimum) / median
};

// Every rank calls it alike, on an idle device with options.threads_per_rank threads; all get the same result.
Calibration calibrate(Device& device, Communicator& communicator, const CalibrationOptions& options,
                      const CalibrationProgress& progress);

}  // namespace trainyard::executor
