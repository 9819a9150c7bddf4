// Whole steps with the CUDA device's kernels against the CPU device's: everywhere by their emulation
// (tests/executor/device/cuda), and on a GPU where there is one.
//
// The program, the buffers and what is counted are the same; sums are taken in another order, so that gradients agree
// to what rounding leaves: 1e-5 of a tensor's norm in fp32, 3e-2 in bf16 (executor.md section 7), 4e-3 in fp16, whose
// unit in the last place is an eighth of that.
#include <gtest/gtest.h>

#include "executor/device/cuda_module.h"
#include "tests/executor/device/cuda/emulated_device.h"
#include "tests/executor/worker/layout_cases.h"
#include "tests/executor/worker/tensor_comparison.h"
#include "tests/executor/worker/thread_ranks.h"

namespace trainyard::executor {

namespace {

void expect_same_step(const Plan& plan, const ThreadRunOptions& options, double tolerance, double loss_tolerance) {
  constexpr std::int64_t kSteps = 2;
  const std::vector<RankResult> expected = run_as_threads(plan, kSteps);
  const std::vector<RankResult> got = run_as_threads(plan, kSteps, options);
  const Difference difference = compare(whole_gradients(got), whole_gradients(expected));
  EXPECT_LE(difference.largest, tolerance) << difference.parameter;
  for (std::size_t rank = 0; rank < got.size(); ++rank) {
    for (std::size_t step = 0; step < kSteps; ++step) {
      EXPECT_NEAR(got[rank].losses[step], expected[rank].losses[step], loss_tolerance) << "step " << step;
      EXPECT_EQ(got[rank].counted[step], expected[rank].counted[step]);
    }
    EXPECT_NEAR(got[rank].gradient_norms[0] / expected[rank].gradient_norms[0], 1.0, tolerance);
    EXPECT_EQ(got[rank].allocated, expected[rank].allocated);
  }
}

Plan plan_of(Layout layout) {
  layout.accumulation = 8;
  return small_plan(layout);
}

// Two sequences a step: enough for gradients to accumulate, and the emulation is slow.
Plan short_plan(const Layout& layout) {
  Plan plan = plan_of(layout);
  plan.layout.accumulation = 2;
  plan.training.global_batch = 2;
  return plan;
}

ThreadRunOptions emulated() {
  ThreadRunOptions options;
  options.make_device = [](CpuDeviceOptions cpu) { return make_emulated_device(std::move(cpu)); };
  return options;
}

ThreadRunOptions on_gpu() {
  ThreadRunOptions options;
  options.make_device = [](CpuDeviceOptions cpu) {
    return make_cuda_device({.ordinal = 0, .on_failure = std::move(cpu.on_failure)});
  };
  return options;
}

TEST(GpuKernels, AStepInFp32IsTheCpus) { expect_same_step(short_plan({}), emulated(), 1e-5, 1e-5); }

TEST(GpuKernels, AStepInBf16IsTheCpus) { expect_same_step(short_plan(bf16_layout()), emulated(), 3e-2, 1e-3); }

TEST(GpuKernels, AStepInFp16IsTheCpus) { expect_same_step(short_plan(fp16_layout()), emulated(), 4e-3, 2e-4); }

TEST(GpuKernels, TensorParallelRanksWithSlicedVocabulary) {
  Layout layout;
  layout.tensor = 2;
  expect_same_step(short_plan(layout), emulated(), 1e-5, 1e-5);
}

// The CPU multiplies in fp32 where tf32 is asked for: the same program, memory and bits.
TEST(GpuKernels, AStepInTf32IsThatInFp32OnTheCpu) {
  Plan plan = short_plan({});
  const std::vector<RankResult> fp32 = run_as_threads(plan, 3);
  plan.layout.compute_type = DataType::kTf32;
  const std::vector<RankResult> tf32 = run_as_threads(plan, 3);
  EXPECT_TRUE(compare(whole_gradients(tf32), whole_gradients(fp32)).bitwise_equal);
  EXPECT_EQ(tf32[0].losses, fp32[0].losses);
  EXPECT_EQ(tf32[0].allocated, fp32[0].allocated);
  expect_same_step(plan, emulated(), 1e-5, 1e-5);
}

TEST(CudaKernels, AStepInTf32IsTheCpusInFp32) {
  if (const CudaStatus status = cuda_status(); !status.problem.empty()) {
    GTEST_SKIP() << status.problem;
  }
  Layout layout;
  layout.compute_type = DataType::kTf32;
  expect_same_step(plan_of(layout), on_gpu(), 1e-2, 1e-3);
}

TEST(CudaKernels, AStepInFp32IsTheCpus) {
  if (const CudaStatus status = cuda_status(); !status.problem.empty()) {
    GTEST_SKIP() << status.problem;
  }
  expect_same_step(plan_of({}), on_gpu(), 1e-5, 1e-5);
}

TEST(CudaKernels, AStepInBf16IsTheCpus) {
  if (const CudaStatus status = cuda_status(); !status.problem.empty()) {
    GTEST_SKIP() << status.problem;
  }
  expect_same_step(plan_of(bf16_layout()), on_gpu(), 3e-2, 1e-3);
}

TEST(CudaKernels, AStepInFp16IsTheCpus) {
  if (const CudaStatus status = cuda_status(); !status.problem.empty()) {
    GTEST_SKIP() << status.problem;
  }
  expect_same_step(plan_of(fp16_layout()), on_gpu(), 4e-3, 2e-4);
}

}  // namespace

}  // namespace trainyard::executor
