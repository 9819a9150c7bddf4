// The CPU as a Device: a thread and a queue per stream in use, one pool of threads for the tiles of kernels.
//
// Results are bit-identical whatever the number of threads (thread_pool.h). Waits block: ranks of one host
// share its cores.
//
// A stream that is blocked in a host function (a collective) can't be skipped over by the device. Whoever
// owns the communicators passes on_failure, to abort them when work on another stream has failed.
#pragma once

#include <functional>
#include <memory>

#include "executor/device/bf16_path.h"
#include "executor/device/device.h"

namespace trainyard::executor {

struct CpuDeviceOptions {
  int threads = 1;  // of the pool, the stream's own included; 1: kernels run on the stream's thread
  std::function<void()> on_failure = {};  // called once, on a stream's thread, after the first exception
  Bf16Path bf16 = Bf16Path::kFastest;
};

std::unique_ptr<Device> make_cpu_device(CpuDeviceOptions options);

}  // namespace trainyard::executor
