// bf16 mixed precision under every kind of layout: weights, activations and what ranks exchange in bf16, gradients,
// master weights and optimizer state in fp32.
//
// A layout changes where sums are rounded, so that gradients agree to what rounding leaves (executor.md section 7:
// 3e-2 of a tensor's norm, 1e-3 of the first loss); what is only moved, or summed in fp32, agrees bit for bit.
#include <gtest/gtest.h>

#include <cmath>

#include "core/document/read_file.h"
#include "executor/checkpoint/safetensors_file.h"
#include "tests/executor/worker/layout_cases.h"
#include "tests/executor/worker/tensor_comparison.h"
#include "tests/executor/worker/thread_ranks.h"
#include "tests/support/temporary_folder.h"

namespace trainyard::executor {

namespace {

constexpr std::int64_t kSteps = 10;

void expect_counts(const std::vector<RankResult>& ranks) {
  for (const RankResult& rank : ranks) {
    for (const Volumes& counted : rank.counted) {
      EXPECT_EQ(counted, rank.planned);
    }
    EXPECT_EQ(rank.allocated.value(), rank.planned_bytes.value());
  }
}

std::vector<Layout> kinds_of_layout() {
  struct Degrees {
    int tensor, pipeline, data, zero;
  };
  std::vector<Layout> layouts;
  for (const Degrees& d :
       {Degrees{1, 1, 2, 0}, Degrees{1, 1, 4, 0}, Degrees{1, 1, 2, 1}, Degrees{2, 1, 1, 0}, Degrees{4, 1, 1, 0},
        Degrees{1, 2, 1, 0}, Degrees{1, 4, 1, 0}, Degrees{2, 1, 2, 1}, Degrees{2, 2, 1, 0}, Degrees{1, 2, 2, 1}}) {
    Layout layout = bf16_layout();
    layout.tensor = d.tensor;
    layout.pipeline = d.pipeline;
    layout.data = d.data;
    layout.zero_stage = d.zero;
    layout.accumulation = 8 / d.data;
    layout.bucket_bytes = ByteCount(1);
    layouts.push_back(layout);
    if (d.data * d.pipeline * d.tensor == 2) {
      layout.recompute = Recompute::kFull;
      layouts.push_back(layout);
    }
  }
  Layout narrow_gradients = bf16_layout();
  narrow_gradients.data = 2;
  narrow_gradients.zero_stage = 1;
  narrow_gradients.accumulation = 4;
  narrow_gradients.gradient_type = DataType::kBf16;
  layouts.push_back(narrow_gradients);
  return layouts;
}

class Bf16Layout : public testing::TestWithParam<Layout> {};

}  // namespace

TEST_P(Bf16Layout, MatchesOneRankToWhatRoundingLeaves) {
  for (const OptimizerKind optimizer : {OptimizerKind::kAdamW, OptimizerKind::kSgd}) {
    const Plan plan = small_plan(GetParam(), optimizer);
    Plan one = reference_plan(plan);
    Layout types = bf16_layout();
    types.accumulation = one.layout.accumulation;
    one.layout = types;
    const std::vector<RankResult> reference = run_as_threads(one, kSteps);
    const std::vector<RankResult> ranks = run_as_threads(plan, kSteps);
    const WholeTensors gradients = whole_gradients(ranks);
    for (const auto& [name, tensor] : gradients) {
      EXPECT_TRUE(tensor.complete) << name;
      EXPECT_TRUE(tensor.replicas_agree) << name;
    }
    // What tensor- or data-parallel ranks all hold is the same, bit for bit, after the last step.
    for (const auto& [name, tensor] : whole_parameters(ranks)) {
      EXPECT_TRUE(tensor.complete) << name;
      EXPECT_TRUE(tensor.replicas_agree) << name;
    }
    const Difference difference = compare(gradients, whole_gradients(reference));
    EXPECT_LE(difference.largest, 3e-2) << difference.parameter;
    EXPECT_NEAR(ranks[0].losses[0], reference[0].losses[0], 1e-3);
    EXPECT_NEAR(ranks[0].gradient_norms[0] / reference[0].gradient_norms[0], 1.0, 5e-3);
    EXPECT_LT(ranks[0].losses.back(), ranks[0].losses.front() - 0.2);
    expect_counts(ranks);
  }
}

INSTANTIATE_TEST_SUITE_P(Parity, Bf16Layout, testing::ValuesIn(kinds_of_layout()),
                         [](const testing::TestParamInfo<Layout>& layout) {
                           return test_name(layout.param) +
                                  (layout.param.gradient_type == DataType::kBf16 ? "_g16" : "");
                         });

// --- Bit for bit -------------------------------------------------------------------------------------------

namespace {

void expect_bitwise_equal(const Layout& a, const Layout& b, int threads = 1) {
  const std::vector<RankResult> first = run_as_threads(small_plan(a), kSteps);
  const std::vector<RankResult> second = run_as_threads(small_plan(b), kSteps, {.threads_per_rank = threads});
  EXPECT_TRUE(compare(whole_parameters(first), whole_parameters(second)).bitwise_equal);
  EXPECT_EQ(first[0].losses, second[0].losses);
  EXPECT_EQ(first[0].gradient_norms, second[0].gradient_norms);
}

Layout of_data(int ranks, int zero) {
  Layout layout = bf16_layout();
  layout.data = ranks;
  layout.accumulation = 8 / ranks;
  layout.zero_stage = zero;
  return layout;
}

}  // namespace

TEST(Bf16BitForBit, ZeroOneIsDataParallel) { expect_bitwise_equal(of_data(4, 1), of_data(4, 0)); }

TEST(Bf16BitForBit, TwoRunsWithDifferentThreadsOfTwoTensorRanks) {
  Layout layout = bf16_layout();
  layout.tensor = 2;
  layout.accumulation = 8;
  expect_bitwise_equal(layout, layout, 2);
}

TEST(Bf16BitForBit, PipelineAndRecomputationChangeNothing) {
  const Layout one = of_data(1, 0);
  Layout pipeline = one;
  pipeline.pipeline = 2;
  expect_bitwise_equal(pipeline, one);
  Layout again = one;
  again.recompute = Recompute::kFull;
  expect_bitwise_equal(again, one);
}

// --- Against fp32 ------------------------------------------------------------------------------------------

TEST(Bf16Training, FollowsFp32OverAHundredSteps) {
  for (const OptimizerKind optimizer : {OptimizerKind::kAdamW, OptimizerKind::kSgd}) {
    Plan narrow_plan = small_plan(of_data(1, 0), optimizer);
    narrow_plan.training.steps = 100;
    // Slow enough that a difference isn't amplified from step to step, as any would be at the edge of stability.
    narrow_plan.training.learning_rate *= optimizer == OptimizerKind::kSgd ? 0.2 : 1.0;
    Plan wide = narrow_plan;
    wide.layout = Layout{};
    wide.layout.accumulation = 8;
    const std::vector<double> bf16 = run_as_threads(narrow_plan, 100)[0].losses;
    const std::vector<double> fp32 = run_as_threads(wide, 100)[0].losses;
    double mean = 0, largest = 0;
    for (std::size_t step = 0; step < fp32.size(); ++step) {
      const double difference = std::abs(bf16[step] - fp32[step]);
      mean += difference / static_cast<double>(fp32.size());
      largest = std::max(largest, difference);
    }
    EXPECT_NEAR(bf16[0], fp32[0], 1e-3);
    EXPECT_LE(mean, 3e-3) << to_string(optimizer) << ", largest " << largest;
    RecordProperty(optimizer == OptimizerKind::kAdamW ? "adamw_largest" : "sgd_largest", std::to_string(largest));
    EXPECT_LE(largest, 2e-2);
  }
}

// A bf16 run saves bf16 weights, half the bytes, and the same file under every layout; what is read back is the master
// weights rounded.
TEST(Bf16SavedModel, IsTheSameFileOfBf16TensorsUnderEveryLayout) {
  const auto saved = [](const Layout& layout) {
    const TemporaryFolder folder;
    run_as_threads(small_plan(layout), 0, {.save_to = folder.path()});
    const SafetensorsReader file(folder.path() / "model.safetensors");
    for (const StoredTensor& tensor : file.tensors()) {
      EXPECT_EQ(tensor.type, "BF16") << tensor.name;
    }
    EXPECT_NE(read_text_file(folder.path() / "config.json").find("bfloat16"), std::string::npos);
    return read_text_file(folder.path() / "model.safetensors");
  };
  Layout tensor = bf16_layout();
  tensor.tensor = 2;
  tensor.accumulation = 8;
  const std::string one = saved(of_data(1, 0));
  EXPECT_LT(one.size(), 3U * 218048U);
  EXPECT_TRUE(saved(tensor) == one);
  EXPECT_TRUE(saved(of_data(2, 1)) == one);
}

}  // namespace trainyard::executor
