// Times operations on this machine, for a device profile (core/plan/device_profile.h).
//
// Every rank of the machine calls measure_kernels() with the same cases; the barrier before each case keeps
// them on the same one, so that they compete for memory and cache as the ranks of a run do. A time is the
// median over the calls of all rounds; rounds visit all cases in turn, so that a disturbance of a second hits
// a few calls of many cases rather than all calls of a few. The minimum is kept for the noise only: it is what
// a lucky call took, not what a step gets.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/plan/device_profile.h"
#include "executor/calibration/kernel_cases.h"
#include "executor/calibration/operation_driver.h"
#include "executor/device/device.h"

namespace trainyard::executor {

struct MeasureOptions {
  int rounds = 5;
  RowWidths widths;
  ByteCount region = kOperandRegion;
  // Between ranks; empty: one rank.
  std::function<void()> barrier = {};                             // returns when every rank has called it
  std::function<void(std::vector<std::int64_t>&)> maximize = {};  // element by element, over ranks
};

struct OperationTime {
  Seconds median;
  Seconds minimum;
};

// By operation, of the slowest rank. Blocks; the device must be idle.
std::vector<OperationTime> time_operations(Device& device, const std::vector<Operation>& operations,
                                           const MeasureOptions& options);

struct KernelSamples {
  std::vector<GemmSample> gemms;
  std::vector<AttentionSample> attentions;
  std::vector<ElementwiseSample> elementwise;
  double noise = 0.0;  // median over cases of (median - minimum) / median
};
KernelSamples measure_kernels(Device& device, const KernelCases& cases, const MeasureOptions& options);

// Of products of this type.
FlopsPerSecond best_rate(std::span<const GemmSample> samples, DataType type);

// Copies on the stream of snapshots between device memory and the device's own kind of host memory, from 64 KiB to
// `largest`, each way: the median of `rounds`, of the slowest rank, all ranks at once.
std::vector<HostCopySample> measure_host_copies(Device& device, const MeasureOptions& options, ByteCount largest);

struct StreamOverheads {
  Seconds instruction;  // between the end of a slice and the begin of the next on one stream
  Seconds handover;     // from the end of a slice to the begin of one on another stream that waited for it
};
StreamOverheads measure_stream_overheads(Device& device);

}  // namespace trainyard::executor
