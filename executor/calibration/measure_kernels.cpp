#include "executor/calibration/measure_kernels.h"

#include <algorithm>
#include <cstddef>

namespace trainyard::executor {

namespace {

template <class Value>
Value median(std::vector<Value>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Calls of one case in one round: about 3 ms at rates that any machine reaches. From the shape alone, so that
// all ranks make the same number.
int calls_per_round(const Operation& operation) {
  constexpr double kRound = 3e-3, kFlopRate = 5e10, kByteRate = 5e9, kCall = 2e-6;
  const double estimate = static_cast<double>(flops(operation).value()) / kFlopRate +
                          static_cast<double>(bytes_moved(operation).value()) / kByteRate + kCall;
  return static_cast<int>(std::clamp(kRound / estimate, 2.0, 24.0));
}

}  // namespace

std::vector<OperationTime> time_operations(Device& device, const std::vector<Operation>& operations,
                                           const MeasureOptions& options) {
  OperationDriver driver(device, operations, options.widths, options.region);
  std::vector<std::vector<std::int64_t>> times(operations.size());
  std::vector<SliceClock> clocks;
  for (int round = -1; round < options.rounds; ++round) {  // -1: kernels are compiled and pages touched
    for (std::size_t i = 0; i < operations.size(); ++i) {
      clocks.assign(static_cast<std::size_t>(round < 0 ? 1 : calls_per_round(operations[i])), {});
      if (options.barrier) {
        options.barrier();
      }
      for (SliceClock& clock : clocks) {
        driver.enqueue(operations[i], &clock);
      }
      device.synchronize();
      for (const SliceClock& clock : clocks) {
        if (round >= 0) {
          times[i].push_back(clock.end - clock.begin);
        }
      }
    }
  }
  std::vector<std::int64_t> medians, minima;
  for (std::vector<std::int64_t>& of_case : times) {
    minima.push_back(*std::min_element(of_case.begin(), of_case.end()));
    medians.push_back(median(of_case));
  }
  if (options.maximize) {
    options.maximize(medians);
    options.maximize(minima);
  }
  std::vector<OperationTime> result;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    // A clock tick at least: an empty operation still took some time.
    result.push_back({to_seconds(std::max<Nanoseconds>(1, medians[i])), to_seconds(minima[i])});
  }
  return result;
}

KernelSamples measure_kernels(Device& device, const KernelCases& cases, const MeasureOptions& options) {
  std::vector<Operation> operations(cases.gemms.begin(), cases.gemms.end());
  operations.insert(operations.end(), cases.attentions.begin(), cases.attentions.end());
  operations.insert(operations.end(), cases.elementwise.begin(), cases.elementwise.end());
  const std::vector<OperationTime> times = time_operations(device, operations, options);

  KernelSamples samples;
  auto time = times.begin();
  for (const Gemm& gemm : cases.gemms) {
    samples.gemms.push_back({gemm, (time++)->median});
  }
  for (const Attention& attention : cases.attentions) {
    samples.attentions.push_back({attention, (time++)->median});
  }
  for (const Elementwise& pass : cases.elementwise) {
    samples.elementwise.push_back({pass.kernel, pass.elements, pass.read + pass.written, (time++)->median});
  }
  std::vector<double> spreads;
  for (const OperationTime& t : times) {
    spreads.push_back((t.median - t.minimum) / t.median);
  }
  samples.noise = spreads.empty() ? 0.0 : median(spreads);
  return samples;
}

std::vector<HostCopySample> measure_host_copies(Device& device, const MeasureOptions& options, ByteCount largest) {
  void* const on_device = device.allocate(largest);
  void* const on_host = device.allocate_host(largest);
  std::vector<HostCopySample> samples;
  std::vector<std::int64_t> times;
  constexpr std::int64_t kSmallest = 64 << 10;
  for (std::int64_t bytes = kSmallest; bytes <= largest.value(); bytes *= 4) {
    for (const CopyDirection direction : {CopyDirection::kToDevice, CopyDirection::kToHost}) {
      if (options.barrier) {
        options.barrier();
      }
      // One more than is counted: the first touches the memory.
      std::vector<SliceClock> clocks(static_cast<std::size_t>(options.rounds) + 1);
      for (SliceClock& clock : clocks) {
        device.begin_slice(Stream::kHostCopy, &clock);
        if (direction == CopyDirection::kToDevice) {
          device.copy_in(Stream::kHostCopy, on_device, on_host, ByteCount(bytes));
        } else {
          device.copy_out(Stream::kHostCopy, on_host, on_device, ByteCount(bytes));
        }
        device.end_slice(Stream::kHostCopy, &clock);
      }
      device.synchronize();
      std::vector<double> taken;
      for (std::size_t i = 1; i < clocks.size(); ++i) {
        taken.push_back(static_cast<double>(clocks[i].end - clocks[i].begin));
      }
      times.push_back(std::max<std::int64_t>(1, static_cast<std::int64_t>(median(taken))));
      samples.push_back({direction, ByteCount(bytes), {}});
    }
  }
  if (options.maximize) {
    options.maximize(times);
  }
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i].time = to_seconds(times[i]);
  }
  device.free_host(on_host);
  device.free(on_device);
  return samples;
}

FlopsPerSecond best_rate(std::span<const GemmSample> samples, DataType type) {
  FlopsPerSecond best;
  for (const GemmSample& sample : samples) {
    best = sample.gemm.type == type ? max(best, flops(Operation(sample.gemm)).quantity() / sample.time) : best;
  }
  return best;
}

StreamOverheads measure_stream_overheads(Device& device) {
  constexpr int kSlices = 400;
  std::vector<SliceClock> chain(kSlices), pairs(kSlices);
  for (SliceClock& clock : chain) {
    device.begin_slice(Stream::kCompute, &clock);
    device.host_function(Stream::kCompute, [] {});
    device.end_slice(Stream::kCompute, &clock);
  }
  device.synchronize();
  for (int i = 0; i < kSlices; ++i) {  // alternating between two streams, each waiting for the other
    const Stream stream = i % 2 == 0 ? Stream::kCompute : Stream::kData;
    device.begin_slice(stream, &pairs[static_cast<std::size_t>(i)]);
    device.end_slice(stream, &pairs[static_cast<std::size_t>(i)]);
    device.wait(i % 2 == 0 ? Stream::kData : Stream::kCompute, device.record(stream));
  }
  device.synchronize();
  std::vector<double> gaps, handovers;
  for (std::size_t i = 1; i < kSlices; ++i) {
    gaps.push_back(to_seconds(chain[i].begin - chain[i - 1].end).si());
    handovers.push_back(to_seconds(pairs[i].begin - pairs[i - 1].end).si());
  }
  return {from_si<Seconds>(median(gaps)), from_si<Seconds>(median(handovers))};
}

}  // namespace trainyard::executor
