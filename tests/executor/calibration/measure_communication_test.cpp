// Two or three ranks as threads, each with a CPU device.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <set>
#include <thread>
#include <tuple>

#include "executor/calibration/collective_timer.h"
#include "executor/calibration/measure_communication.h"
#include "executor/communicator/gloo_communicator.h"
#include "executor/device/cpu_device.h"
#include "tests/executor/communicator/memory_store.h"

namespace trainyard::executor {
namespace {

void as_ranks(int size, const std::function<void(int rank, Device&, Communicator&)>& body) {
  MemoryStore store;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        const auto device = make_cpu_device({.threads = 1, .on_failure = {}});
        const auto communicator = make_gloo_communicator(*device, store, Rank(rank), size, {});
        body(rank, *device, *communicator);
        communicator->barrier();
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

TEST(CollectiveTimer, the_slowest_ranks_time_is_everybodys) {
  as_ranks(3, [](int rank, Device& device, Communicator& communicator) {
    CollectiveTimer timer(device, communicator, ByteCount(1024));
    std::vector<std::int64_t> values{rank, -rank};
    timer.maximize(values);
    EXPECT_EQ(values, (std::vector<std::int64_t>{2, 0}));
    const Seconds time = timer.time(Stream::kCompute, 3, [&] {
      device.host_function(Stream::kCompute,
                           [rank] { std::this_thread::sleep_for(std::chrono::milliseconds(rank == 1 ? 30 : 0)); });
    });
    EXPECT_GE(time.si(), 0.020);  // 30 ms but for how much later rank 0 or 2 may have started
    EXPECT_LT(time.si(), 1.0);
  });
}

TEST(CollectiveTimer, left_over_ranks_are_idle) {
  as_ranks(3, [](int rank, Device& device, Communicator& communicator) {
    const GroupPartition pairs = partition(communicator, 2);
    EXPECT_EQ(pairs.groups, 1);
    EXPECT_EQ(pairs.own, rank < 2 ? 0 : 1);
    EXPECT_EQ(pairs.handle.members.size(), rank < 2 ? 2U : 0U);
    CollectiveTimer timer(device, communicator, ByteCount(1024));
    timer.time({CommunicationKind::kReduceScatter, CollectiveAlgorithm::kRing, 2, ByteCount(1024), {}}, 2);
    // Two repeats in which each of the pair sends half of the tensor.
    const auto at = static_cast<std::size_t>(CommunicationKind::kReduceScatter);
    EXPECT_EQ(communicator.counters().sent[at], ByteCount(rank < 2 ? 2 * 512 : 0));
  });
}

TEST(MeasureCommunication, every_collective_and_group_size_has_its_samples_alike_on_all_ranks) {
  MeasureCommunicationOptions options;
  options.largest = ByteCount(8 << 10);
  options.largest_small_algorithm = ByteCount(4 << 10);
  options.least_repeats = 1;
  options.most_repeats = 2;
  std::vector<std::vector<CollectiveSample>> samples(3);
  as_ranks(3, [&](int rank, Device& device, Communicator& communicator) {
    samples[static_cast<std::size_t>(rank)] = measure_collectives(device, communicator, options);
  });
  // Sizes 1, 4, 8 KiB for 8 of the 11 collectives, 1, 4 for the 3 others; sends in pairs only.
  EXPECT_EQ(samples[0].size(), 2 * (8 * 3 + 3 * 2) - 3U);
  std::set<std::tuple<CommunicationKind, CollectiveAlgorithm, int, std::int64_t>> distinct;
  for (std::size_t i = 0; i < samples[0].size(); ++i) {
    const CollectiveSample& sample = samples[0][i];
    distinct.emplace(sample.kind, sample.algorithm, sample.group_size, sample.payload.value());
    EXPECT_GT(sample.time.si(), 0.0);
    EXPECT_EQ(sample.time.si(), samples[1][i].time.si());
    EXPECT_EQ(sample.time.si(), samples[2][i].time.si());
  }
  EXPECT_EQ(distinct.size(), samples[0].size());
}

TEST(MeasureCommunication, overlap_never_speeds_work_up) {
  as_ranks(2, [](int, Device& device, Communicator& communicator) {
    const std::vector<OverlapSlowdown> overlap = measure_overlap(device, communicator);
    ASSERT_EQ(overlap.size(), 1U);
    EXPECT_EQ(overlap[0].group_size, 2);
    EXPECT_GE(overlap[0].compute, 1.0);
    EXPECT_GE(overlap[0].communication, 1.0);
    EXPECT_LT(overlap[0].compute, 100.0);
    EXPECT_LT(overlap[0].communication, 100.0);
  });
}

}  // namespace
}  // namespace trainyard::executor
