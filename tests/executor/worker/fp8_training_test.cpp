// Layers' products in fp8 beside bf16: training against bf16's, layouts against one rank, the GPU's kernels against the
// CPU's.
#include <gtest/gtest.h>

#include <cmath>

#include "executor/device/cuda_module.h"
#include "executor/kernel/float8.h"
#include "tests/executor/device/cuda/emulated_device.h"
#include "tests/executor/worker/layout_cases.h"
#include "tests/executor/worker/tensor_comparison.h"
#include "tests/executor/worker/thread_ranks.h"

namespace trainyard::executor {

namespace {

Plan fp8_plan(int tensor, int pipeline, int data) {
  Layout layout = bf16_layout();
  layout.compute_type = DataType::kFp8;
  layout.tensor = tensor;
  layout.pipeline = pipeline;
  layout.data = data;
  layout.zero_stage = data > 1 ? 1 : 0;
  layout.accumulation = 8 / data;
  return small_plan(layout);
}

Plan in_bf16(Plan plan) {
  plan.layout.compute_type = DataType::kBf16;
  return plan;
}

// Each product multiplies the same numbers (DeviceContract). Between them bf16 is summed in another order, and one that
// is rounded the other way gives another code one time in 16 (e4m3) or 32 (e5m2), then an eighth or a quarter off: some
// 2 % of a norm a product, which add up as roots of their number over the 28 products above layer 0's queries.
void expect_the_cpus_step(const Plan& plan, const ThreadRunOptions& options) {
  const std::vector<RankResult> expected = run_as_threads(plan, 2);
  const std::vector<RankResult> got = run_as_threads(plan, 2, options);
  const Difference difference = compare(whole_gradients(got), whole_gradients(expected));
  EXPECT_LE(difference.largest, 0.1) << difference.parameter;
  EXPECT_NEAR(got[0].losses[0], expected[0].losses[0], 1e-3);
  EXPECT_EQ(got[0].counted[0], expected[0].counted[0]);
  EXPECT_EQ(got[0].allocated, expected[0].allocated);
}

}  // namespace

// An e4m3 has 3 bits of mantissa: products of two are off by 2^-4 a factor, with signs that cancel. The gradients of
// one step stay within a tenth of a tensor's norm of bf16's, and the loss follows.
TEST(Fp8Training, FollowsBf16OverAHundredSteps) {
  Plan plan = fp8_plan(1, 1, 1);
  plan.training.steps = 100;
  const std::vector<RankResult> fp8 = run_as_threads(plan, 100);
  const std::vector<RankResult> bf16 = run_as_threads(in_bf16(plan), 100);
  double mean = 0;
  for (std::size_t step = 0; step < 100; ++step) {
    mean += std::abs(fp8[0].losses[step] - bf16[0].losses[step]) / 100;
  }
  EXPECT_NE(fp8[0].losses[0], bf16[0].losses[0]);
  EXPECT_NEAR(fp8[0].losses[0], bf16[0].losses[0], 1e-2);
  EXPECT_LE(mean, 2e-2);
  EXPECT_NEAR(fp8[0].losses.back(), bf16[0].losses.back(), 5e-2);
  const Difference difference = compare(whole_gradients(fp8), whole_gradients(bf16));
  EXPECT_LE(difference.largest, 0.15) << difference.parameter;
  EXPECT_GE(difference.largest, 1e-3);  // it is another arithmetic
}

// Buffers, messages and FLOPs are as planned: bf16's, for fp8 stays within a product.
TEST(Fp8Training, EveryKindOfLayoutMatchesOneRankAndItsCounts) {
  const std::vector<RankResult> reference = run_as_threads(fp8_plan(1, 1, 1), 4);
  for (const Plan& plan : {fp8_plan(1, 1, 1), fp8_plan(1, 1, 2), fp8_plan(2, 1, 1), fp8_plan(1, 2, 1),
                           fp8_plan(2, 2, 1), fp8_plan(1, 2, 2)}) {
    SCOPED_TRACE(test_name(plan.layout));
    const std::vector<RankResult> ranks = run_as_threads(plan, 4);
    const std::vector<RankResult> bf16 = run_as_threads(in_bf16(plan), 0);
    if (plan.layout.tensor == 1) {  // a scale is of what a rank holds, and of a micro-batch
      EXPECT_LE(compare(whole_gradients(ranks), whole_gradients(reference)).largest, 3e-2);
      EXPECT_NEAR(ranks[0].losses[0], reference[0].losses[0], 1e-3);
    }
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      EXPECT_EQ(ranks[rank].counted.back(), ranks[rank].planned);
      EXPECT_EQ(ranks[rank].planned, bf16[rank].planned);
      EXPECT_EQ(ranks[rank].allocated, bf16[rank].planned_bytes);
    }
    EXPECT_LT(ranks[0].losses.back(), ranks[0].losses.front() - 0.05);
  }
}

TEST(Fp8Training, TwoRunsWithDifferentThreadsAreEqualToTheBit) {
  EXPECT_EQ(run_as_threads(fp8_plan(2, 1, 1), 4)[0].losses,
            run_as_threads(fp8_plan(2, 1, 1), 4, {.threads_per_rank = 2})[0].losses);
}

// GPT-2's weights are stored the other way round, so that its gradients come in another order; its GELU follows.
TEST(Fp8Training, OfGpt2) {
  Plan plan = fp8_plan(1, 1, 1);
  plan.model = small_gpt2(true);
  const std::vector<RankResult> fp8 = run_as_threads(plan, 2);
  const std::vector<RankResult> bf16 = run_as_threads(in_bf16(plan), 2);
  EXPECT_NEAR(fp8[0].losses[0], bf16[0].losses[0], 1e-2);
  EXPECT_LE(compare(whole_gradients(fp8), whole_gradients(bf16)).largest, 0.15);
  EXPECT_EQ(fp8[0].counted[0], fp8[0].planned);
}

TEST(Fp8Training, AStepOfTheGpusKernelsIsTheCpus) {
  Plan plan = fp8_plan(1, 1, 1);
  plan.layout.accumulation = 2;
  plan.training.global_batch = 2;
  ThreadRunOptions options;
  options.make_device = [](CpuDeviceOptions cpu) { return make_emulated_device(std::move(cpu)); };
  expect_the_cpus_step(plan, options);
}

TEST(Fp8Training, AStepOnAGpuIsTheCpus) {
  const CudaStatus status = cuda_status();
  if (!status.problem.empty()) {
    GTEST_SKIP() << status.problem;
  }
  if (status.gpus.front().compute_capability < kFirstWithFp8) {
    GTEST_SKIP() << "the GPU has no fp8";
  }
  ThreadRunOptions options;
  options.make_device = [](CpuDeviceOptions cpu) {
    return make_cuda_device({.ordinal = 0, .on_failure = std::move(cpu.on_failure)});
  };
  expect_the_cpus_step(fp8_plan(1, 1, 1), options);
}

}  // namespace trainyard::executor
