// GPT-2 in the executor: gradients by finite differences of the loss, every layout that runs it against one rank, bf16
// against fp32.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/plan/capabilities.h"
#include "executor/communicator/gloo_communicator.h"
#include "executor/data/sampler.h"
#include "executor/device/cpu_device.h"
#include "executor/run/cpu_capabilities.h"
#include "executor/worker/weight_initializer.h"
#include "tests/executor/communicator/memory_store.h"
#include "tests/executor/worker/layout_cases.h"
#include "tests/executor/worker/tensor_comparison.h"
#include "tests/executor/worker/thread_ranks.h"

namespace trainyard::executor {

namespace {

constexpr std::int64_t kSteps = 10;

Plan gpt2_plan(const Layout& layout, bool tied) {
  Plan plan = small_plan(layout);
  plan.model = small_gpt2(tied);
  return plan;
}

struct Case {
  Layout layout;
  bool tied = true;
  bool nccl = false;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&](int data, int pipeline, int zero, bool tied, Recompute recompute, std::int64_t micro_batch,
                       int tensor = 1, bool nccl = false) {
    Layout layout;
    layout.tensor = tensor;
    layout.data = data;
    layout.pipeline = pipeline;
    layout.zero_stage = zero;
    layout.recompute = recompute;
    layout.micro_batch = micro_batch;
    layout.accumulation = 8 / (data * micro_batch);
    layout.bucket_bytes = ByteCount(1);
    all.push_back({layout, tied, nccl});
  };
  add(2, 1, 0, true, Recompute::kNone, 1);
  add(2, 1, 1, true, Recompute::kNone, 2);
  add(4, 1, 1, true, Recompute::kNone, 1);
  add(1, 1, 0, true, Recompute::kFull, 1);
  add(1, 2, 0, false, Recompute::kNone, 1);
  add(2, 2, 1, false, Recompute::kNone, 1);
  add(1, 1, 0, true, Recompute::kNone, 1, 2);
  add(1, 1, 0, false, Recompute::kFull, 2, 4);
  add(2, 1, 1, true, Recompute::kNone, 1, 2);
  add(1, 2, 0, true, Recompute::kNone, 1);
  add(1, 4, 0, true, Recompute::kFull, 1);
  add(2, 2, 0, true, Recompute::kNone, 1);
  add(2, 2, 1, true, Recompute::kNone, 1);
  add(1, 2, 0, true, Recompute::kNone, 2, 2);
  add(2, 2, 1, true, Recompute::kNone, 1, 2);
  add(2, 2, 1, true, Recompute::kNone, 1, 2, true);
  add(1, 4, 0, true, Recompute::kNone, 1, 1, true);
  return all;
}

class Gpt2Layout : public testing::TestWithParam<Case> {};

}  // namespace

TEST_P(Gpt2Layout, MatchesOneRank) {
  const Plan plan = gpt2_plan(GetParam().layout, GetParam().tied);
  ASSERT_EQ(why_not(cpu_capabilities(), plan.model, plan.layout), std::nullopt);
  const std::vector<RankResult> reference = run_as_threads(reference_plan(plan), kSteps);
  const std::vector<RankResult> ranks = run_as_threads(plan, kSteps, {.nccl = GetParam().nccl});
  const WholeTensors gradients = whole_gradients(ranks);
  EXPECT_EQ(gradients.size(), parameters(plan.model).size());
  const WholeTensors expected = whole_gradients(reference);
  for (const auto& [name, tensor] : gradients) {
    EXPECT_TRUE(tensor.complete && tensor.replicas_agree) << name;
    // The gradient of the keys' bias is 0 but for rounding: a shift of all scores of a row. It is part of c_attn.bias.
    EXPECT_LE(relative_difference(tensor.values, expected.at(name).values), 2e-5) << name;
  }
  for (std::size_t step = 0; step < reference[0].losses.size(); ++step) {
    EXPECT_NEAR(ranks[0].losses[step], reference[0].losses[step], 1e-5) << step;
  }
  EXPECT_LT(ranks[0].losses.back(), ranks[0].losses.front() - 0.2);
  for (const RankResult& rank : ranks) {
    EXPECT_EQ(rank.counted.front(), rank.planned);
    EXPECT_EQ(rank.allocated.value(), rank.planned_bytes.value());
  }
}

INSTANTIATE_TEST_SUITE_P(Gpt2, Gpt2Layout, testing::ValuesIn(cases()), [](const testing::TestParamInfo<Case>& one) {
  return test_name(one.param.layout) + (one.param.tied ? "_tied" : "") + (one.param.nccl ? "_nccl" : "");
});

// Every parameter tensor, along a random direction: (loss(w + e d) - loss(w - e d)) / 2 e = gradient . d. The losses
// are fp32, so that the step is large and the tolerance is the curvature's.
TEST(Gpt2Gradients, AreTheSlopesOfTheLoss) {
  Layout layout;
  layout.accumulation = 8;
  for (const bool tied : {true, false}) {
    Plan plan = gpt2_plan(layout, tied);
    plan.training.initial_std = 0.08;
    const std::vector<std::uint8_t> text = sample_text(1 << 12);
    MemoryStore store;
    const auto device = make_cpu_device({});
    const auto communicator = make_gloo_communicator(*device, store, Rank(0), 1, {});
    Worker worker(plan, *device, *communicator);
    const WeightSource start = random_weights(plan.model, plan.training);
    const StepTokens tokens = training_tokens(text, plan, 0, 0);
    worker.set_parameters(start);
    worker.train(0, tokens);
    for (const TensorSlice& slice : worker.gradients()) {
      double norm = 0;
      for (const float element : slice.values) {
        norm += static_cast<double>(element) * static_cast<double>(element);
      }
      norm = std::sqrt(norm);
      // Along the gradient itself: the slope is its norm.
      const double step = std::min(0.05, 2e-3 / norm);
      const auto moved = [&](double sign) {
        worker.set_parameters(
            [&](const Parameter& parameter, std::span<const IndexRange> ranges, std::span<float> values) {
              start(parameter, ranges, values);
              if (parameter.name == slice.parameter.name) {
                for (std::size_t i = 0; i < values.size(); ++i) {
                  values[i] += static_cast<float>(sign * step * static_cast<double>(slice.values[i]) / norm);
                }
              }
            });
        return worker.evaluate(tokens);
      };
      EXPECT_NEAR((moved(1) - moved(-1)) / (2 * step) / norm, 1.0, 2e-2) << slice.parameter.name << " " << norm;
    }
  }
}

TEST(Gpt2Bf16, FollowsFp32) {
  Layout layout = bf16_layout();
  layout.accumulation = 8;
  const Plan narrow = gpt2_plan(layout, true);
  const std::vector<RankResult> bf16 = run_as_threads(narrow, kSteps);
  const std::vector<RankResult> fp32 = run_as_threads(reference_plan(narrow), kSteps);
  for (std::size_t step = 0; step < fp32[0].losses.size(); ++step) {
    EXPECT_NEAR(bf16[0].losses[step], fp32[0].losses[step], 3e-3 + 1e-3 * static_cast<double>(step)) << step;
  }
  EXPECT_LE(compare(whole_gradients(bf16), whole_gradients(fp32)).largest, 5e-2);
  EXPECT_EQ(bf16[0].allocated.value(), bf16[0].planned_bytes.value());
}

// The files hold query, key and value as one tensor: each rank has its heads of all three.
TEST(Gpt2Capabilities, TakeEveryDegreeButOtherFamilies) {
  Layout layout;
  layout.tensor = layout.pipeline = layout.data = 2;
  EXPECT_EQ(why_not(cpu_capabilities(), small_gpt2(true), layout), std::nullopt);
  ModelSpec bloom = small_gpt2(true);
  bloom.family = ModelFamily::kBloom;
  EXPECT_TRUE(why_not(cpu_capabilities(), bloom, Layout{}).has_value());
}

// 4 heads of 16 over 2 ranks: the second has columns 32 to 64 of each of the three.
TEST(Gpt2Slices, HoldTheSameHeadsOfQueryKeyAndValue) {
  Layout layout;
  layout.tensor = 2;
  layout.accumulation = 8;
  const Plan plan = gpt2_plan(layout, true);
  const std::vector<RankResult> ranks = run_as_threads(plan, 0);
  const WholeTensors one = whole_parameters(run_as_threads(reference_plan(plan), 0));
  int seen = 0;
  for (const TensorSlice& slice : ranks[1].parameters) {
    if (slice.parameter.kind != ParameterKind::kQueryKeyValue || slice.parameter.part != ParameterPart::kWeight) {
      continue;
    }
    ++seen;
    const std::vector<float>& whole = one.at(slice.parameter.name).values;
    ASSERT_EQ(slice.values.size(), 64U * 96U);
    for (std::size_t row = 0; row < 64; ++row) {
      for (std::size_t part = 0; part < 3; ++part) {
        for (std::size_t column = 0; column < 32; ++column) {
          ASSERT_EQ(slice.values[row * 96 + part * 32 + column], whole[row * 192 + part * 64 + 32 + column]);
        }
      }
    }
  }
  EXPECT_EQ(seen, 4);
}

// Byte for byte, from equal weights: what a rank writes of the stacked tensor lands where one rank would put it, and a
// table that two stages hold is written once.
TEST(Gpt2SavedModel, IsTheSameFileUnderEveryLayout) {
  const auto saved = [](int tensor, int pipeline, int data) {
    return saved_weights(gpt2_plan(layout_of_degrees(tensor, pipeline, data), true));
  };
  const std::string one = saved(1, 1, 1);
  EXPECT_TRUE(saved(2, 1, 1) == one);
  EXPECT_TRUE(saved(4, 1, 1) == one);
  EXPECT_TRUE(saved(1, 4, 1) == one);
  EXPECT_TRUE(saved(2, 2, 2) == one);
}

// Replicas of a tied table at both ends start equal and get equal gradients, so that they never differ in a bit.
TEST(Gpt2TiedAcrossStages, HasOneTableToTheLastBit) {
  for (const int zero : {0, 1}) {
    Layout layout;
    layout.tensor = 2;
    layout.pipeline = 2;
    layout.data = 2;
    layout.zero_stage = zero;
    layout.accumulation = 4;
    const std::vector<RankResult> ranks = run_as_threads(gpt2_plan(layout, true), kSteps);
    for (const auto& [name, tensor] : whole_parameters(ranks)) {
      EXPECT_TRUE(tensor.complete && tensor.replicas_agree) << name << " with ZeRO " << zero;
    }
  }
}

}  // namespace trainyard::executor
