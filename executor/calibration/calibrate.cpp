#include "executor/calibration/calibrate.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "executor/calibration/collective_timer.h"
#include "executor/calibration/kernel_cases.h"
#include "executor/calibration/measure_communication.h"
#include "executor/calibration/measure_kernels.h"

namespace trainyard::executor {

namespace {

// Where the parts of the work begin, as shares of the time they take.
constexpr double kKernelsEnd = 0.6;
constexpr double kCollectivesEnd = 0.9;

// The slowest rank's.
StreamOverheads stream_overheads(Device& device, CollectiveTimer& ranks) {
  const StreamOverheads own = measure_stream_overheads(device);
  std::vector<std::int64_t> times = {to_nanoseconds(own.instruction), to_nanoseconds(own.handover)};
  ranks.maximize(times);
  return {to_seconds(times[0]), to_seconds(times[1])};
}

// Also sets what follows from the kernels' times alone.
double measure_compute(Device& device, Communicator& communicator, const CalibrationOptions& options,
                       const CalibrationProgress& progress, Concurrency& result) {
  const bool gpu = options.device.kind == DeviceKind::kCuda;
  const KernelCases cases =
      gpu ? runnable(gpu_calibration_cases(), usable_gpus().compute_capability) : calibration_cases();
  MeasureOptions measure;
  measure.rounds = options.quick ? 2 : 5;
  const auto calls = static_cast<double>(cases.gemms.size() + cases.attentions.size() + cases.elementwise.size()) *
                     (measure.rounds + 1);
  double done = 0;
  measure.barrier = [&] {
    communicator.barrier();
    progress(kKernelsEnd * std::min(1.0, done++ / calls), "products, attention, passes over memory");
  };
  CollectiveTimer ranks(device, communicator, ByteCount(1 << 10));
  measure.maximize = [&](std::vector<std::int64_t>& values) { ranks.maximize(values); };
  KernelSamples samples = measure_kernels(device, cases, measure);
  const StreamOverheads overheads = stream_overheads(device, ranks);
  constexpr std::int64_t kLargestCopy = 64 << 20;
  result.host_copies = measure_host_copies(device, measure, ByteCount(gpu ? 4 * kLargestCopy : kLargestCopy / 4));
  result.peak_gemm_rate = best_rate(samples.gemms, DataType::kFp32);
  result.gemms = std::move(samples.gemms);
  result.attentions = std::move(samples.attentions);
  result.elementwise = std::move(samples.elementwise);
  result.instruction_overhead = overheads.instruction;
  result.stream_handover = overheads.handover;
  return samples.noise;
}

}  // namespace

Calibration calibrate(Device& device, Communicator& communicator, const CalibrationOptions& options,
                      const CalibrationProgress& progress) {
  Calibration calibration;
  Concurrency& result = calibration.concurrency;
  result.ranks_at_once = communicator.size();
  result.threads_per_rank = options.threads_per_rank;
  calibration.noise = measure_compute(device, communicator, options, progress, result);
  if (communicator.size() > 1) {
    progress(kKernelsEnd, "collectives");
    MeasureCommunicationOptions collectives;
    if (options.device.kind == DeviceKind::kCuda) {
      collectives.largest = ByteCount(256 << 20);
      collectives.largest_small_algorithm = collectives.largest;  // NCCL chooses for itself
    }
    if (options.quick) {
      collectives.time_per_sample = from_si<Seconds>(0.03);
      collectives.most_repeats = 15;
    }
    result.collectives = measure_collectives(device, communicator, collectives);
    progress(kCollectivesEnd, "computing and communicating at once");
    result.overlap = measure_overlap(device, communicator);
  }
  progress(1.0, "done");
  return calibration;
}

}  // namespace trainyard::executor
