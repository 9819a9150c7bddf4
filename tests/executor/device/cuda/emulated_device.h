// The CUDA device's kernels as a Device on the CPU (emulated_block.h): everything else, matrix products included, is
// the CPU device's.
#pragma once

#include <memory>

#include "executor/device/cpu_device.h"
#include "executor/device/cuda/fused_attention.h"
#include "tests/executor/device/cuda/emulated_block.h"

namespace trainyard::executor {

// fused: null as where cuDNN is missing. Its passes get a null stream, on the emulated stream's thread.
std::unique_ptr<Device> make_emulated_device(CpuDeviceOptions options, ThreadOrder order = ThreadOrder::kAscending,
                                             std::unique_ptr<FusedAttention> fused = nullptr);

}  // namespace trainyard::executor
