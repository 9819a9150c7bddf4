#include "executor/calibration/measure_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "executor/device/cpu_device.h"

namespace trainyard::executor {
namespace {

constexpr ByteCount kSmall{1 << 20};  // grown to what a case needs

KernelCases few_cases() {
  KernelCases cases;
  cases.gemms = {{.m = 16, .n = 16, .k = 16}, {.m = 256, .n = 256, .k = 256}};
  Attention attention{.sequences = 1, .query_heads = 2, .key_heads = 1, .queries = 40, .keys = 40, .head_size = 8};
  attention.query_tile = 16;
  cases.attentions = {attention};
  attention.pass = AttentionPass::kBackward;
  cases.attentions.push_back(attention);
  for (int kernel = 0; kernel < kElementwiseKernels; ++kernel) {
    for (const std::int64_t elements : {100, 5000}) {  // less than a row, and no multiple of one
      cases.elementwise.push_back(elementwise_case(static_cast<ElementwiseKernel>(kernel), elements));
    }
  }
  return cases;
}

TEST(MeasureKernels, TimesEveryCaseInOrder) {
  const auto device = make_cpu_device({});
  const KernelCases cases = few_cases();
  const KernelSamples samples = measure_kernels(*device, cases, {.rounds = 3, .region = kSmall});
  ASSERT_EQ(samples.gemms.size(), cases.gemms.size());
  ASSERT_EQ(samples.attentions.size(), cases.attentions.size());
  ASSERT_EQ(samples.elementwise.size(), cases.elementwise.size());
  for (std::size_t i = 0; i < cases.elementwise.size(); ++i) {
    EXPECT_EQ(samples.elementwise[i].kernel, cases.elementwise[i].kernel);
    EXPECT_EQ(samples.elementwise[i].elements, cases.elementwise[i].elements);
    EXPECT_EQ(samples.elementwise[i].bytes, cases.elementwise[i].read + cases.elementwise[i].written);
    EXPECT_GT(samples.elementwise[i].time.si(), 0.0) << to_string(cases.elementwise[i].kernel);
  }
  // 4096 times the work; a thousandth of that ratio leaves room for any noise.
  EXPECT_GT(samples.gemms[1].time.si(), 4.0 * samples.gemms[0].time.si());
  EXPECT_GT(best_rate(samples.gemms, DataType::kFp32).si(), 0.0);
  EXPECT_GE(samples.noise, 0.0);
  EXPECT_LT(samples.noise, 1.0);
}

TEST(MeasureKernels, PerformsTheWorkThatTheCaseNames) {
  // Counted at the matmul: a multiple of what core says of the operation, as many times as it was called.
  const auto device = make_cpu_device({});
  const std::vector<Operation> operations{few_cases().attentions[0]};
  time_operations(*device, operations, {.rounds = 2, .region = kSmall});
  const std::int64_t counted = device->counters().flops.value(), one = flops(operations[0]).value();
  EXPECT_GE(counted, 5 * one);  // a first call, and two rounds of at least two
  EXPECT_EQ(counted % one, 0);
}

TEST(MeasureKernels, MeetsTheOtherRanksBeforeEveryCaseOfEveryRound) {
  const auto device = make_cpu_device({});
  const KernelCases cases = few_cases();
  int barriers = 0;
  measure_kernels(*device, cases, {.rounds = 2, .region = kSmall, .barrier = [&] { ++barriers; }});
  const auto count = static_cast<int>(cases.gemms.size() + cases.attentions.size() + cases.elementwise.size());
  EXPECT_EQ(barriers, (1 + 2) * count);  // the first round warms up
}

TEST(MeasureKernels, ReportsTheSlowestRank) {
  const auto device = make_cpu_device({});
  const auto as_if_another_took_a_second = [](std::vector<std::int64_t>& times) {
    times.assign(times.size(), 1'000'000'000);
  };
  const auto times = time_operations(*device, {few_cases().gemms[0]},
                                     {.rounds = 1, .region = kSmall, .maximize = as_if_another_took_a_second});
  EXPECT_EQ(times[0].median.si(), 1.0);
}

TEST(MeasureKernels, CopiesWithTheHostEachWayBySize) {
  const auto device = make_cpu_device({});
  int barriers = 0;
  const std::vector<HostCopySample> copies =
      measure_host_copies(*device, {.rounds = 3, .barrier = [&] { ++barriers; }}, ByteCount(1 << 20));
  ASSERT_EQ(copies.size(), 6U);  // 64 KiB, 256 KiB, 1 MiB
  EXPECT_EQ(barriers, 6);
  for (std::size_t i = 0; i < copies.size(); ++i) {
    EXPECT_EQ(copies[i].direction, i % 2 == 0 ? CopyDirection::kToDevice : CopyDirection::kToHost);
    EXPECT_EQ(copies[i].bytes.value(), std::int64_t{64 << 10} << (2 * (i / 2)));
    EXPECT_GT(copies[i].time.si(), 0.0);
  }
  EXPECT_EQ(device->allocated().value(), 0);
}

TEST(MeasureKernels, LeavesNoMemoryBehind) {
  const auto device = make_cpu_device({});
  time_operations(*device, {few_cases().gemms[0]}, {.rounds = 1, .region = kSmall});
  EXPECT_EQ(device->allocated().value(), 0);
}

class CalibrationCases : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Devices, CalibrationCases, testing::Bool(),
                         [](const auto& gpu) { return std::string(gpu.param ? "Gpu" : "Cpu"); });

TEST_P(CalibrationCases, CoverEveryOrderPassAndKernel) {
  const KernelCases cases = GetParam() ? gpu_calibration_cases() : calibration_cases();
  for (const DataType type : {DataType::kFp32, DataType::kBf16, DataType::kFp16}) {
    SCOPED_TRACE(to_string(type));
    std::set<std::pair<Transpose, bool>> orders;
    std::set<std::int64_t> depths;
    for (const Gemm& gemm : cases.gemms) {
      if (gemm.type == type) {
        orders.emplace(gemm.transpose, gemm.accumulate);
        depths.insert(gemm.k);
      }
    }
    EXPECT_GE(orders.size(), 3u);
    EXPECT_TRUE(orders.contains({Transpose::kTN, true}));  // gradients of weights
    EXPECT_GE(depths.size(), 4u);
    std::set<AttentionPass> passes;
    for (const Attention& attention : cases.attentions) {
      if (attention.type == type) {
        passes.insert(attention.pass);
      }
    }
    EXPECT_EQ(passes.size(), 2u);
  }
  std::set<ElementwiseKernel> kernels;
  for (const Elementwise& pass : cases.elementwise) {
    kernels.insert(pass.kernel);
  }
  EXPECT_EQ(kernels.size(), static_cast<std::size_t>(kElementwiseKernels));
}

TEST(CalibrationCases, LeaveOutFp8WhereAGpuHasNone) {
  const auto has_fp8 = [](const KernelCases& cases) {
    return std::ranges::any_of(cases.gemms, [](const Gemm& gemm) { return gemm.type == DataType::kFp8; });
  };
  EXPECT_TRUE(has_fp8(runnable(gpu_calibration_cases(), 90)));
  EXPECT_FALSE(has_fp8(runnable(gpu_calibration_cases(), 80)));
  EXPECT_TRUE(has_fp8(calibration_cases()));
}

TEST(StreamOverheads, AreShortAndNotNegative) {
  const auto device = make_cpu_device({});
  const StreamOverheads overheads = measure_stream_overheads(*device);
  EXPECT_GE(overheads.instruction.si(), 0.0);
  EXPECT_GT(overheads.handover.si(), 0.0);
  EXPECT_LT(overheads.handover.si(), 0.1);
}

}  // namespace
}  // namespace trainyard::executor
