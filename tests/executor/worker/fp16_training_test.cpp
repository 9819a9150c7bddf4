// fp16 mixed precision: parity with fp32 and between layouts, and the loss scale that finds its way
// (core/plan/training.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/plan/largest_loss_scale.h"
#include "executor/checkpoint/safetensors_file.h"
#include "executor/worker/loss_scale.h"
#include "tests/executor/worker/layout_cases.h"
#include "tests/executor/worker/tensor_comparison.h"
#include "tests/executor/worker/thread_ranks.h"
#include "tests/support/temporary_folder.h"

namespace trainyard::executor {

namespace {

Layout layout_of(int tensor, int pipeline, int data, int zero) {
  Layout layout = fp16_layout();
  layout.tensor = tensor;
  layout.pipeline = pipeline;
  layout.data = data;
  layout.zero_stage = zero;
  layout.accumulation = 8 / data;
  layout.bucket_bytes = ByteCount(1);
  return layout;
}

}  // namespace

// A step that overflows halves the scale and begins the count anew; 3 steps in a row without one double it.
TEST(LossScale, HalvesAtAnOverflowAndDoublesAfterSoManyGoodSteps) {
  LossScale scale({.initial = 8, .growth_steps = 3});
  std::vector<double> scales;
  for (const bool overflowed : {false, false, true, false, false, false, false, true, true, true}) {
    scale.after_step(overflowed);
    scales.push_back(scale.state().scale);
  }
  EXPECT_EQ(scales, (std::vector<double>{8, 8, 4, 4, 4, 8, 8, 4, 2, 1}));
  EXPECT_EQ(scale.state().skipped_steps, 4);
  EXPECT_THROW(scale.after_step(true), Error);
}

// fp16 has 3 bits of mantissa more than bf16, whose bounds these are an eighth of (bf16_parity_test.cpp: 3e-3, 2e-2).
TEST(Fp16Training, FollowsFp32OverAHundredSteps) {
  for (const OptimizerKind optimizer : {OptimizerKind::kAdamW, OptimizerKind::kSgd}) {
    Plan narrow_plan = small_plan(layout_of(1, 1, 1, 0), optimizer);
    narrow_plan.training.steps = 100;
    narrow_plan.training.learning_rate *= optimizer == OptimizerKind::kSgd ? 0.2 : 1.0;
    Plan wide = narrow_plan;
    wide.layout = Layout{};
    wide.layout.accumulation = 8;
    const std::vector<RankResult> fp16 = run_as_threads(narrow_plan, 100);
    const std::vector<RankResult> fp32 = run_as_threads(wide, 100);
    double mean = 0, largest = 0;
    for (std::size_t step = 0; step < 100; ++step) {
      const double difference = std::abs(fp16[0].losses[step] - fp32[0].losses[step]);
      mean += difference / 100;
      largest = std::max(largest, difference);
    }
    EXPECT_NEAR(fp16[0].losses[0], fp32[0].losses[0], 2e-4);
    EXPECT_NEAR(fp16[0].gradient_norms[0] / fp32[0].gradient_norms[0], 1.0, 2e-3);
    EXPECT_LE(mean, 4e-4) << to_string(optimizer);
    EXPECT_LE(largest, 3e-3) << to_string(optimizer);
    const Difference difference = compare(whole_gradients(fp16), whole_gradients(fp32));
    EXPECT_LE(difference.largest, 4e-3) << difference.parameter;
    EXPECT_EQ(fp16[0].loss_scales, std::vector<double>(100, 65536));
  }
}

TEST(Fp16Training, EveryKindOfLayoutMatchesOneRankAndItsCounts) {
  const std::vector<RankResult> reference = run_as_threads(small_plan(layout_of(1, 1, 1, 0)), 4);
  Layout narrow_gradients = layout_of(1, 1, 2, 1);
  narrow_gradients.gradient_type = DataType::kFp16;
  for (const Layout& layout : {layout_of(1, 1, 2, 0), layout_of(1, 1, 2, 1), layout_of(2, 1, 1, 0),
                               layout_of(1, 2, 1, 0), layout_of(2, 2, 1, 0), layout_of(1, 2, 2, 1), narrow_gradients}) {
    SCOPED_TRACE(test_name(layout));
    const std::vector<RankResult> ranks = run_as_threads(small_plan(layout), 4);
    const WholeTensors gradients = whole_gradients(ranks);
    if (layout.tensor == 1) {  // two key heads for two tensor-parallel ranks: another model
      EXPECT_LE(compare(gradients, whole_gradients(reference)).largest, 4e-3);
      EXPECT_NEAR(ranks[0].losses[0], reference[0].losses[0], 2e-4);
    }
    for (const auto& [name, tensor] : whole_parameters(ranks)) {
      EXPECT_TRUE(tensor.complete && tensor.replicas_agree) << name;
    }
    for (const RankResult& rank : ranks) {
      EXPECT_EQ(rank.counted.back(), rank.planned);
      EXPECT_EQ(rank.allocated, rank.planned_bytes);
      EXPECT_EQ(rank.losses, ranks[0].losses);
    }
  }
}

// From a scale that overflows: steps are skipped on all ranks alike until it fits, then it trains. With growth every
// 5 steps it finds the edge again.
TEST(Fp16Training, SkipsStepsThatOverflowUntilTheScaleFits) {
  for (const Layout& layout :
       {layout_of(1, 1, 1, 0), layout_of(1, 1, 2, 1), layout_of(2, 1, 1, 0), layout_of(1, 2, 2, 1)}) {
    SCOPED_TRACE(test_name(layout));
    Plan plan = small_plan(layout);
    plan.training.loss_scaling = {.initial = kLargestLossScale, .growth_steps = 5};
    const std::vector<RankResult> ranks = run_as_threads(plan, 20);
    const RankResult& first = ranks[0];
    ASSERT_FALSE(std::isfinite(first.gradient_norms[0]));
    std::int64_t good = 0, skipped = 0;
    for (std::size_t step = 0; step + 1 < first.loss_scales.size(); ++step) {
      const bool finite = std::isfinite(first.gradient_norms[step]);
      skipped += finite ? 0 : 1;
      good = finite ? good + 1 : 0;
      const double factor = !finite ? 0.5 : good == 5 ? 2.0 : 1.0;
      EXPECT_EQ(first.loss_scales[step + 1], std::min(kLargestLossScale, factor * first.loss_scales[step])) << step;
      good = good == 5 ? 0 : good;
      if (!finite) {  // the same weights, other tokens
        EXPECT_TRUE(std::isfinite(first.losses[step]));
      }
    }
    EXPECT_GE(skipped, 1);
    EXPECT_LE(skipped, 15);
    EXPECT_LT(first.losses.back(), first.losses.front() - 0.1);
    for (const RankResult& rank : ranks) {
      EXPECT_EQ(rank.loss_scales, first.loss_scales);
      EXPECT_EQ(rank.losses, first.losses);
    }
  }
}

// Only its skips are no updates: the weights are the first ones.
TEST(Fp16Training, ASkippedStepLeavesWeightsAndMomentsAlone) {
  Plan plan = small_plan(layout_of(1, 1, 2, 1));
  plan.training.loss_scaling.initial = kLargestLossScale;
  const std::vector<RankResult> one = run_as_threads(plan, 1);
  ASSERT_FALSE(std::isfinite(one[0].gradient_norms[0]));
  const std::vector<RankResult> none = run_as_threads(plan, 0);
  EXPECT_TRUE(compare(whole_parameters(one), whole_parameters(none)).bitwise_equal);
}

// 2^16 and 2^10 are exact factors of a gradient that neither overflows nor underflows: nearly the same run.
TEST(Fp16Training, TheScaleChangesNothingButWhatUnderflows) {
  Plan plan = small_plan(layout_of(1, 1, 1, 0));
  const std::vector<double> high = run_as_threads(plan, 20)[0].losses;
  plan.training.loss_scaling.initial = 1 << 10;
  const std::vector<double> low = run_as_threads(plan, 20)[0].losses;
  for (std::size_t step = 0; step < high.size(); ++step) {
    EXPECT_NEAR(high[step], low[step], 1e-3);
  }
}

TEST(Fp16SavedModel, IsOfFp16Tensors) {
  const TemporaryFolder folder;
  run_as_threads(small_plan(layout_of(1, 1, 2, 1)), 0, {.save_to = folder.path()});
  const SafetensorsReader file(folder.path() / "model.safetensors");
  for (const StoredTensor& tensor : file.tensors()) {
    EXPECT_EQ(tensor.type, "F16") << tensor.name;
  }
}

}  // namespace trainyard::executor
