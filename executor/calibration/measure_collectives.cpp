#include <algorithm>
#include <cmath>

#include "executor/calibration/collective_timer.h"
#include "executor/calibration/measure_communication.h"

namespace trainyard::executor {
namespace {

struct Case {
  CommunicationKind kind;
  CollectiveAlgorithm algorithm;
  bool for_small_payloads;
};

constexpr Case kCases[] = {
    {CommunicationKind::kAllReduce, CollectiveAlgorithm::kRing, false},
    {CommunicationKind::kAllReduce, CollectiveAlgorithm::kDirect, true},
    {CommunicationKind::kAllReduce, CollectiveAlgorithm::kTree, true},
    {CommunicationKind::kReduceScatter, CollectiveAlgorithm::kRing, false},
    {CommunicationKind::kReduceScatter, CollectiveAlgorithm::kDirect, false},
    {CommunicationKind::kAllGather, CollectiveAlgorithm::kRing, false},
    {CommunicationKind::kAllGather, CollectiveAlgorithm::kDirect, false},
    {CommunicationKind::kBroadcast, CollectiveAlgorithm::kTree, false},
    {CommunicationKind::kBroadcast, CollectiveAlgorithm::kDirect, true},
    {CommunicationKind::kAllToAll, CollectiveAlgorithm::kDirect, false},
    {CommunicationKind::kSend, CollectiveAlgorithm::kDirect, false},
};

std::vector<ByteCount> sizes(const MeasureCommunicationOptions& options, ByteCount largest) {
  std::vector<ByteCount> result;
  for (ByteCount size = options.smallest; size < largest; size = size * options.size_factor) {
    result.push_back(size);
  }
  result.push_back(largest);
  return result;
}

// The first run warms up (scratch, page faults, connections); the second says how often to repeat.
Seconds measure(CollectiveTimer& timer, const CollectiveSample& sample, const MeasureCommunicationOptions& options) {
  timer.time(sample, 1);
  const double once = timer.time(sample, 1).si();
  const double wanted = options.time_per_sample.si() / std::max(once, 1e-6);
  const int repeats = static_cast<int>(
      std::clamp(wanted, static_cast<double>(options.least_repeats), static_cast<double>(options.most_repeats)));
  return timer.time(sample, repeats);
}

}  // namespace

std::vector<CollectiveSample> measure_collectives(Device& device, Communicator& communicator,
                                                  const MeasureCommunicationOptions& options) {
  CollectiveTimer timer(device, communicator, options.largest);
  std::vector<CollectiveSample> samples;
  for (int group_size = 2; group_size <= communicator.size(); ++group_size) {
    const GroupPartition groups = partition(communicator, group_size);
    communicator.join(groups.handle);
    if (group_size == 2) {
      communicator.join_line(groups.handle);
    }
    for (const Case& one : kCases) {
      if (one.kind == CommunicationKind::kSend && group_size != 2) {
        continue;
      }
      const ByteCount largest =
          one.for_small_payloads ? std::min(options.largest, options.largest_small_algorithm) : options.largest;
      for (const ByteCount payload : sizes(options, largest)) {
        CollectiveSample sample{one.kind, one.algorithm, group_size, payload, {}};
        sample.time = measure(timer, sample, options);
        samples.push_back(sample);
      }
    }
  }
  return samples;
}

}  // namespace trainyard::executor
