// Streams, events, failures, slices and memory.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <thread>

#include "executor/device/thread_pool.h"
#include "tests/executor/device/device_fixture.h"

namespace trainyard::executor {
namespace {

using namespace std::chrono_literals;

TEST(Streams, WorkOfOneStreamRunsInOrder) {
  const auto device = make_cpu_device({});
  std::vector<int> order;
  for (int i = 0; i < 1000; ++i) {
    device->host_function(Stream::kCompute, [&order, i] { order.push_back(i); });
  }
  device->synchronize();
  ASSERT_EQ(order.size(), 1000u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(Streams, AnEventHoldsTheWaitingStreamAndNoOther) {
  const auto device = make_cpu_device({});
  std::atomic<bool> first{false}, second{false}, other{false}, release{false};
  device->host_function(Stream::kData, [&] {
    while (!release) {
      std::this_thread::sleep_for(1ms);
    }
    first = true;
  });
  device->wait(Stream::kCompute, device->record(Stream::kData));
  device->host_function(Stream::kCompute, [&] { second = first.load(); });
  // A stream that doesn't wait gets through while the other two are held.
  device->host_function(Stream::kTensor, [&] {
    other = !second;
    release = true;
  });
  device->synchronize();
  EXPECT_TRUE(second) << "ran before what it waited for";
  EXPECT_TRUE(other);
}

TEST(Streams, AnEventOfTheNextStepsWorkMayBeRecordedBeforeTheHostWaits) {
  const auto device = make_cpu_device({});
  int value = 0;
  for (int step = 0; step < 200; ++step) {  // ping-pong: each side sees the other's write
    device->host_function(Stream::kCompute, [&value] { ++value; });
    device->wait(Stream::kData, device->record(Stream::kCompute));
    device->host_function(Stream::kData, [&value] { value *= 1; });
    device->wait(Stream::kCompute, device->record(Stream::kData));
  }
  device->synchronize();
  EXPECT_EQ(value, 200);
}

TEST(Streams, TheFirstExceptionStopsTheDeviceAndIsRethrown) {
  std::atomic<int> told{0};
  const auto device = make_cpu_device({1, [&] { ++told; }});
  bool ran = false;
  device->host_function(Stream::kTensor, [] { throw std::runtime_error("peer lost"); });
  device->wait(Stream::kCompute, device->record(Stream::kTensor));
  device->host_function(Stream::kCompute, [&] { ran = true; });
  device->host_function(Stream::kTensor, [] { throw std::runtime_error("second"); });
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      device->synchronize();
      FAIL() << "no exception";
    } catch (const std::runtime_error& failure) {
      EXPECT_STREQ(failure.what(), "peer lost");
    }
  }
  EXPECT_FALSE(ran) << "work after a failure is skipped";
  EXPECT_EQ(told, 1);
}

TEST(Streams, OnFailureCanReleaseAStreamThatIsBlocked) {
  std::atomic<bool> aborted{false};
  const auto device = make_cpu_device({1, [&] { aborted = true; }});
  device->host_function(Stream::kData, [&] {
    while (!aborted) {
      std::this_thread::sleep_for(1ms);
    }
  });
  device->host_function(Stream::kCompute, [] { throw std::runtime_error("out of memory"); });
  EXPECT_THROW(device->synchronize(), std::runtime_error);
}

TEST(Streams, SlicesSpanTheirWorkOnACommonClock) {
  const auto device = make_cpu_device({});
  SliceClock before, after;
  device->begin_slice(Stream::kCompute, &before);
  device->host_function(Stream::kCompute, [] { std::this_thread::sleep_for(3ms); });
  device->end_slice(Stream::kCompute, &before);
  device->wait(Stream::kData, device->record(Stream::kCompute));
  device->begin_slice(Stream::kData, &after);
  device->end_slice(Stream::kData, &after);
  device->synchronize();
  EXPECT_GE(before.end - before.begin, 3'000'000);
  EXPECT_GE(after.begin, before.end);
}

TEST(Memory, IsZeroedAlignedAndCountedAsAsked) {
  const auto device = make_cpu_device({});
  std::vector<void*> blocks;
  std::int64_t total = 0;
  for (const std::int64_t bytes : {1, 100, 4096, 300000, 3 << 20, 0, 2 << 20, 1 << 20}) {
    auto* memory = static_cast<unsigned char*>(device->allocate(ByteCount(bytes)));
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0u);
    EXPECT_EQ(std::count(memory, memory + bytes, 0), bytes);
    std::fill(memory, memory + bytes, static_cast<unsigned char>(0xff));
    blocks.push_back(memory);
    total += bytes;
    EXPECT_EQ(device->allocated().value(), total);
  }
  for (void* memory : blocks) {
    device->free(memory);
  }
  EXPECT_EQ(device->allocated().value(), 0);
}

TEST(Memory, BlocksAreDisjoint) {
  const auto device = make_cpu_device({});
  std::vector<std::int32_t*> blocks;
  for (std::int32_t i = 0; i < 300; ++i) {  // 12 kB each: several shared huge pages
    blocks.push_back(static_cast<std::int32_t*>(device->allocate(ByteCount(12000))));
    std::fill(blocks.back(), blocks.back() + 3000, i);
  }
  for (std::int32_t i = 0; i < 300; ++i) {
    EXPECT_EQ(std::count(blocks[i], blocks[i] + 3000, i), 3000);
    device->free(blocks[i]);
  }
}

TEST(ThreadPool, RunsEveryTileOnceAndRethrows) {
  ThreadPool pool(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::atomic<int>> runs(97);
    pool.for_each_tile(97, [&](std::int64_t tile) { ++runs[static_cast<std::size_t>(tile)]; });
    for (const auto& count : runs) {
      ASSERT_EQ(count, 1);
    }
  }
  EXPECT_THROW(pool.for_each_tile(8,
                                  [](std::int64_t tile) {
                                    if (tile == 5) {
                                      throw std::runtime_error("tile");
                                    }
                                  }),
               std::runtime_error);
}

TEST(ThreadPool, ASecondCallerWorksAlone) {
  ThreadPool pool(2);
  std::atomic<std::int64_t> sum{0};
  const auto caller = [&] {
    for (int round = 0; round < 100; ++round) {
      pool.for_each_tile(50, [&](std::int64_t tile) { sum += tile; });
    }
  };
  std::thread other(caller);
  caller();
  other.join();
  EXPECT_EQ(sum, 2 * 100 * (49 * 50 / 2));
}

}  // namespace
}  // namespace trainyard::executor
