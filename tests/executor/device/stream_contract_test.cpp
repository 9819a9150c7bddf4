// Order, memory and failures of every device: captured work, copies between streams, slices on the host's clock.
#include <time.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <vector>

#include "core/error.h"
#include "executor/device/cuda_module.h"
#include "tests/executor/device/device_contract.h"

namespace trainyard::executor {
namespace {

// Twice enqueued is twice done, on every stream, and counted.
TEST_P(DeviceContract, CapturedWorkIsDoneAsOftenAsItIsEnqueued) {
  constexpr std::int64_t kRows = 64, kWidth = 256;
  expect_same([&](Arrays& x) {
    const Values a = x.values(kRows * kWidth, 1), weight = x.values(kWidth * kWidth, 2, 0.1);
    const Values product = x.unwritten(kRows * kWidth), sum = x.values(kRows * kWidth, 3);
    float* bias_grad = x.raw(std::vector<float>(kWidth, 0.0f));
    const Gemm gemm{.m = kRows, .n = kWidth, .k = kWidth, .type = x.type(), .transpose = Transpose::kNT};
    const auto calls = [&] {
      x->matmul(kStream, gemm, a, weight, product, nullptr);
      const EventHandle made = x->record(kStream);
      x->wait(Stream::kTensor, made);
      x->add(Stream::kTensor, sum, product, sum, kRows * kWidth);
      x->bias_backward(Stream::kTensor, product, bias_grad, kRows, kWidth, true);
      x->wait(kStream, x->record(Stream::kTensor));
      x->add(kStream, sum, a, sum, kRows * kWidth);
    };
    calls();
    x->synchronize();
    const std::int64_t one = x->counters().flops.value();
    const std::unique_ptr<CapturedWork> work = x->capture(calls);
    ASSERT_NE(work, nullptr);
    EXPECT_EQ(x->counters().flops.value(), one);  // not enqueued yet
    x->enqueue(*work);
    x->enqueue(*work);
    // What follows on the compute stream, or waits for it, comes after.
    x->wait(Stream::kData, x->record(kStream));
    x->add(Stream::kData, sum, a, sum, kRows * kWidth);
    x->synchronize();
    EXPECT_EQ(x->counters().flops.value(), 3 * one);
    x.read(sum, kRows * kWidth);
    x.read(bias_grad, kWidth);
    // Equal to three calls, to the bit: sum and gradient are functions of the same products.
    calls();
    x->synchronize();
    x.read(sum, kRows * kWidth);
  });
}

TEST_P(DeviceContract, WorkWhoseCallsCannotBeKeptIsNotCaptured) {
  Arrays x = arrays(GetParam().device);
  float* values = x.raw(std::vector<float>(16, 1.0f));
  const EventHandle outside = x->record(Stream::kData);
  EXPECT_EQ(x->capture([&] {
    x->wait(kStream, outside);
    x->add(kStream, values, values, values, 16);
  }),
            nullptr);
  if (GetParam().device == "cuda") {  // the CPU keeps any other call
    EXPECT_EQ(x->capture([&] { x->host_function(kStream, [] {}); }), nullptr);
    float host = 0;
    EXPECT_EQ(x->capture([&] { x->copy_out(kStream, &host, values, ByteCount(4)); }), nullptr);
    SliceClock clock;
    EXPECT_EQ(x->capture([&] { x->begin_slice(kStream, &clock); }), nullptr);
  }
  x->wait(kStream, outside);  // and the device works on
  x->add(kStream, values, values, values, 16);
  EXPECT_NO_THROW(x->synchronize());
  x.read(values, 16);
  EXPECT_EQ(x.results.back(), std::vector<float>(16, 2.0f));  // added once
}

TEST_P(DeviceContract, MemoryIsZeroedCountedAndCopiedInOrder) {
  Arrays x = arrays(GetParam().device);
  const ByteCount before = x->allocated();
  auto* memory = static_cast<float*>(x->allocate(ByteCount(400)));
  EXPECT_EQ(x->allocated() - before, ByteCount(400));
  auto* host = static_cast<float*>(x->allocate_host(ByteCount(400)));
  std::fill_n(host, 100, 7.0f);
  x->copy_out(Stream::kHostCopy, host, memory, ByteCount(200));
  x->synchronize();
  EXPECT_EQ(std::count(host, host + 100, 0.0f), 50);
  EXPECT_EQ(std::count(host, host + 100, 7.0f), 50);
  // Written on one stream, copied on another after an event.
  std::fill_n(host, 100, 2.0f);
  x->copy_in(kStream, memory, host, ByteCount(400));
  x->add(kStream, memory, memory, memory, 100);
  const EventHandle added = x->record(kStream);
  x->wait(Stream::kHostCopy, added);
  x->copy_out(Stream::kHostCopy, host, memory, ByteCount(400));
  x->synchronize();
  EXPECT_EQ(std::count(host, host + 100, 4.0f), 100);
  x->free_host(host);
  x->free(memory);
  EXPECT_EQ(x->allocated(), before);
}

TEST_P(DeviceContract, SlicesLieOnTheHostsClockAndFailuresStopTheDevice) {
  Arrays x = arrays(GetParam().device);
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const Nanoseconds before = static_cast<Nanoseconds>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
  SliceClock first, second;
  x->begin_range("two slices");
  x->begin_slice(kStream, &first);
  x->host_function(kStream, [] {});
  x->end_slice(kStream, &first);
  x->begin_slice(kStream, &second);
  x->end_slice(kStream, &second);
  x->end_range();
  x->synchronize();
  constexpr Nanoseconds kSlack = 100'000;  // two clocks tied by an event
  EXPECT_GE(first.begin, before - kSlack);
  EXPECT_LE(first.begin, first.end);
  EXPECT_LE(first.end, second.begin);
  EXPECT_LE(second.begin, second.end);

  bool ran = false;
  x->host_function(kStream, [] { throw std::runtime_error("peer lost"); });
  EXPECT_THROW(x->synchronize(), std::runtime_error);
  x->host_function(kStream, [&] { ran = true; });
  EXPECT_THROW(x->synchronize(), std::runtime_error);
  EXPECT_FALSE(ran);
}

TEST(CudaModule, SaysWhyThereIsNoGpuOrMakesADevice) {
  const CudaStatus status = cuda_status();
  if (status.problem.empty()) {
    EXPECT_FALSE(status.gpus.empty());
    EXPECT_EQ(make_cuda_device({})->name().substr(0, 6), "cuda 0");
    EXPECT_THROW(make_cuda_device({.ordinal = 1000}), Error);
  } else {
    EXPECT_TRUE(status.gpus.empty());
    EXPECT_THROW(make_cuda_device({}), Error);
  }
}

}  // namespace
}  // namespace trainyard::executor
