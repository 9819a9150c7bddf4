// Steps whose repeated part is captured once and enqueued as a whole (Device::capture: a CUDA graph on a GPU) against
// steps whose every call is made: the same to the last bit, whatever part of a layout's step can be kept.
#include <gtest/gtest.h>

#include <cmath>

#include "core/plan/largest_loss_scale.h"
#include "executor/communicator/gloo_communicator.h"
#include "executor/device/cuda_module.h"
#include "executor/worker/device_constants.h"
#include "executor/worker/float_transfer.h"
#include "executor/worker/interpreter.h"
#include "executor/worker/rank_memory.h"
#include "tests/executor/communicator/memory_store.h"
#include "tests/executor/device/cuda/emulated_device.h"
#include "tests/executor/worker/layout_cases.h"
#include "tests/executor/worker/tensor_comparison.h"
#include "tests/executor/worker/thread_ranks.h"

namespace trainyard::executor {

namespace {

void expect_same_with_capture(const Plan& plan, std::int64_t steps, ThreadRunOptions options = {}) {
  const std::vector<RankResult> plain = run_as_threads(plan, steps, options);
  options.captures = true;
  const std::vector<RankResult> captured = run_as_threads(plan, steps, options);
  EXPECT_TRUE(compare(whole_parameters(captured), whole_parameters(plain)).bitwise_equal);
  for (std::size_t rank = 0; rank < plain.size(); ++rank) {
    EXPECT_EQ(captured[rank].losses, plain[rank].losses);
    for (std::size_t step = 0; step < plain[rank].gradient_norms.size(); ++step) {
      const double norm = plain[rank].gradient_norms[step], got = captured[rank].gradient_norms[step];
      EXPECT_TRUE(got == norm || (std::isnan(got) && std::isnan(norm))) << "step " << step;
    }
    EXPECT_EQ(captured[rank].loss_scales, plain[rank].loss_scales);
    EXPECT_EQ(captured[rank].evaluation, plain[rank].evaluation);
    for (std::size_t step = 0; step < plain[rank].counted.size(); ++step) {
      EXPECT_EQ(captured[rank].counted[step], plain[rank].planned) << "step " << step;
    }
    EXPECT_FALSE(plain[rank].replays);
    EXPECT_TRUE(captured[rank].replays);
  }
}

Layout layout_of(int data, int zero, DataType type = DataType::kFp32) {
  Layout layout = type == DataType::kBf16 ? bf16_layout() : type == DataType::kFp16 ? fp16_layout() : Layout();
  layout.data = data;
  layout.zero_stage = zero;
  layout.accumulation = 8 / data;
  layout.bucket_bytes = ByteCount(1);
  return layout;
}

// An interpreter by hand, so that the scale is given and not found: the first bucket's gradients after each step.
std::vector<std::vector<float>> gradients_under(const std::vector<float>& scales, bool captures) {
  const Plan plan = small_plan(layout_of(1, 0));
  const Program program = compile(plan);
  const Role& role = program.role_of(Rank(0));
  const auto device = make_cpu_device({});
  MemoryStore store;
  const auto communicator = make_gloo_communicator(*device, store, Rank(0), 1, {});
  const RankMemory memory(*device, role);
  const DeviceConstants constants(*device, plan.model, plan.training.sequence);
  Interpreter interpreter(plan, program, *device, *communicator, memory.addresses(), constants.addresses(),
                          Fault::kNone);
  const auto values = [&](BufferId buffer) {
    return Values(memory.addresses()[buffer.at()], role.buffers[buffer.at()].type);
  };
  for (const Bucket& bucket : role.buckets) {
    std::vector<float> weights(static_cast<std::size_t>(bucket.elements));
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] = 0.1f * static_cast<float>(i % 17) - 0.8f;
    }
    write_floats(*device, values(bucket.parameters_buffer), weights.data(), bucket.elements);
  }
  if (captures) {
    interpreter.capture_repeated();
  }
  const Bucket& bucket = role.buckets.front();
  std::vector<std::vector<float>> gradients;
  for (const float scale : scales) {
    interpreter.enqueue({.learning_rate = 0, .loss_scale = scale}, nullptr);
    device->synchronize();
    auto& read = gradients.emplace_back(static_cast<std::size_t>(bucket.elements));
    read_floats(*device, values(bucket.gradients_buffer), read.data(), bucket.elements);
  }
  EXPECT_EQ(interpreter.captured(), captures);
  return gradients;
}

}  // namespace

// The scale is in what was captured: the first step with another one warms up again, the second captures anew.
TEST(CapturedSteps, FollowTheLossScale) {
  const std::vector<float> scales{1.0f, 1.0f, 2.0f, 2.0f, 2.0f};
  const auto plain = gradients_under(scales, false);
  EXPECT_NE(plain[1], plain[3]);
  EXPECT_EQ(gradients_under(scales, true), plain);
}

TEST(CapturedSteps, AreThePlainOnesToTheLastBit) {
  expect_same_with_capture(small_plan(layout_of(1, 0)), 5);
  expect_same_with_capture(small_plan(layout_of(1, 0, DataType::kBf16), OptimizerKind::kSgd), 5);
  Plan scaling = small_plan(layout_of(1, 0, DataType::kFp16));
  scaling.training.loss_scaling = {.initial = kLargestLossScale, .growth_steps = 3};  // the scale falls and grows
  expect_same_with_capture(scaling, 12);
  expect_same_with_capture(small_plan(layout_of(2, 1)), 5);  // until the first bucket is reduced
  Plan gpt2 = small_plan(layout_of(1, 0));
  gpt2.model = small_gpt2(true);
  expect_same_with_capture(gpt2, 4);
}

TEST(CapturedSteps, OfTheGpusKernelsToo) {
  Plan plan = small_plan(layout_of(1, 0));
  plan.layout.accumulation = 2;
  plan.training.global_batch = 2;
  ThreadRunOptions options;
  options.make_device = [](CpuDeviceOptions cpu) { return make_emulated_device(std::move(cpu)); };
  expect_same_with_capture(plan, 3, options);
}

TEST(CapturedSteps, OnAGpu) {
  if (const CudaStatus status = cuda_status(); !status.problem.empty()) {
    GTEST_SKIP() << status.problem;
  }
  ThreadRunOptions options;
  options.make_device = [](CpuDeviceOptions cpu) {
    return make_cuda_device({.ordinal = 0, .on_failure = std::move(cpu.on_failure)});
  };
  expect_same_with_capture(small_plan(layout_of(1, 0)), 5, options);
  expect_same_with_capture(small_plan(layout_of(1, 0, DataType::kBf16)), 5, options);
}

// The part ends where a communicator, which follows each of its operations, or the update, which has the step's
// learning rate, begins.
TEST(CapturedSteps, EndBeforeTheFirstCommunicationOrTheUpdate) {
  const auto repeated = [](const Layout& layout) {
    const Plan plan = small_plan(layout);
    const Program program = compile(plan);
    const Role& role = program.role_of(Rank(0));
    const std::size_t part = repeated_part(role);
    for (std::size_t i = 0; i < part; ++i) {
      EXPECT_FALSE(role.instructions[i].communication.has_value());
      EXPECT_NE(role.instructions[i].kind, InstructionKind::kOptimizer);
    }
    return std::pair(part, role.instructions.size());
  };
  const auto [alone, all_alone] = repeated(layout_of(1, 0));
  EXPECT_EQ(all_alone - alone, 6U);  // updates: of 4 layers, the table, the head with the final norm
  Layout tensor = layout_of(1, 0);
  tensor.tensor = 2;
  EXPECT_EQ(repeated(tensor).first, 0U);  // the embedding's sum comes at once: what is before it isn't worth it
  const auto [data, all_data] = repeated(layout_of(2, 0));
  EXPECT_GT(data, 3 * all_data / 4);
}

}  // namespace trainyard::executor
