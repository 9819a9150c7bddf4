// One model, one text, every layout: the layout must not change what is computed.
//
// Gradients are compared tensor by tensor, because AdamW hides errors of scale from the losses; the losses of
// 20 steps are compared with AdamW and with SGD. The mutation tests show that the comparison can fail.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <tuple>

#include "tests/executor/worker/layout_cases.h"
#include "tests/executor/worker/tensor_comparison.h"
#include "tests/executor/worker/thread_ranks.h"

namespace trainyard::executor {

namespace {

constexpr std::int64_t kSteps = 20;
constexpr double kTolerance = 1e-5;

double largest_loss_difference(const RankResult& a, const RankResult& b) {
  double largest = 0;
  for (std::size_t step = 0; step < a.losses.size(); ++step) {
    const double difference = std::abs(a.losses[step] - b.losses[step]);
    largest = difference <= largest ? largest : difference;
  }
  return largest;
}

std::string text(const Volumes& volumes) {
  std::ostringstream out;
  out << volumes.flops.value() << " FLOPs";
  for (int kind = 0; kind < kCommunicationKinds; ++kind) {
    const auto i = static_cast<std::size_t>(kind);
    out << ", " << to_string(static_cast<CommunicationKind>(kind)) << " " << volumes.sent[i].value() << " B in "
        << volumes.messages[i];
  }
  return out.str();
}

void expect_complete(const WholeTensors& tensors, const Plan& plan) {
  EXPECT_EQ(tensors.size(), parameters(plan.model).size());
  for (const auto& [name, tensor] : tensors) {
    EXPECT_TRUE(tensor.complete) << name;
    EXPECT_TRUE(tensor.replicas_agree) << name;
  }
}

void expect_counts(const std::vector<RankResult>& ranks) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const Volumes& counted : ranks[rank].counted) {
      EXPECT_EQ(counted, ranks[rank].planned)
          << "rank " << rank << " counted " << text(counted) << "\nplanned " << text(ranks[rank].planned);
    }
    EXPECT_EQ(ranks[rank].allocated.value(), ranks[rank].planned_bytes.value()) << "rank " << rank;
  }
}

void expect_same_training(const std::vector<RankResult>& ranks, const RankResult& reference) {
  for (const RankResult& rank : ranks) {
    for (std::size_t step = 0; step < reference.losses.size(); ++step) {
      EXPECT_NEAR(rank.losses[step], reference.losses[step], kTolerance) << "step " << step;
    }
    EXPECT_NEAR(rank.gradient_norms[0] / reference.gradient_norms[0], 1.0, 2e-5);
    EXPECT_NEAR(rank.evaluation, reference.evaluation, kTolerance);
  }
}

class EveryLayout : public testing::TestWithParam<Layout> {};

}  // namespace

// The whole of the comparison, with AdamW: gradients, losses, volumes as integers, memory as integers.
TEST_P(EveryLayout, MatchesOneRankWithAdamW) {
  const Plan plan = small_plan(GetParam());
  const std::vector<RankResult> reference = run_as_threads(reference_plan(plan), kSteps);
  const std::vector<RankResult> ranks = run_as_threads(plan, kSteps);
  const WholeTensors whole = whole_gradients(ranks);
  expect_complete(whole, plan);
  expect_complete(whole_parameters(ranks), plan);
  const Difference difference = compare(whole, whole_gradients(reference));
  EXPECT_LE(difference.largest, kTolerance) << difference.parameter;
  expect_same_training(ranks, reference[0]);
  expect_counts(ranks);
  // It learns, so that the comparison is about something.
  EXPECT_LT(reference[0].losses.back(), reference[0].losses.front() - 0.5);
}

// SGD's steps are proportional to the gradient, so that its losses see errors of scale. Over NCCL's communicator and a
// fake NCCL, which says which of NCCL's rules a program breaks: what is posted must pair up, end, and train as over
// Gloo.
TEST_P(EveryLayout, MatchesOneRankWithSgdOverNccl) {
  const Plan plan = small_plan(GetParam(), OptimizerKind::kSgd);
  const std::vector<RankResult> reference = run_as_threads(reference_plan(plan), kSteps);
  const std::vector<RankResult> ranks = run_as_threads(plan, kSteps, {.nccl = plan.layout.ranks() > 1});
  expect_same_training(ranks, reference[0]);
  expect_counts(ranks);
}

INSTANTIATE_TEST_SUITE_P(Parity, EveryLayout, testing::ValuesIn(all_layouts()),
                         [](const testing::TestParamInfo<Layout>& layout) { return test_name(layout.param); });

// The same over Gloo for each way to divide the ranks; each switch over Gloo is AdamW's to show above.
TEST(EveryDivisionOfRanks, MatchesOneRankWithSgdOverGloo) {
  constexpr std::int64_t kFewSteps = 5;
  for (const auto& [tensor, pipeline, data] :
       {std::tuple{1, 1, 2}, {2, 1, 1}, {1, 2, 1}, {1, 1, 4}, {4, 1, 1}, {1, 4, 1}, {2, 2, 1}, {2, 1, 2}, {1, 2, 2}}) {
    SCOPED_TRACE(testing::Message() << "tp" << tensor << " pp" << pipeline << " dp" << data);
    const Plan plan = small_plan(layout_of_degrees(tensor, pipeline, data), OptimizerKind::kSgd);
    const std::vector<RankResult> reference = run_as_threads(reference_plan(plan), kFewSteps);
    const std::vector<RankResult> ranks = run_as_threads(plan, kFewSteps);
    expect_same_training(ranks, reference[0]);
    expect_counts(ranks);
  }
}

// With tied embeddings the table gets gradients from both ends, which two stages of a pipeline each hold a copy for.
TEST(TiedEmbeddings, MatchOneRank) {
  struct Degrees {
    int tensor, pipeline, data;
  };
  for (const Degrees& degrees : {Degrees{1, 1, 2}, Degrees{2, 1, 2}, Degrees{1, 2, 1}, Degrees{1, 4, 1},
                                 Degrees{1, 3, 1}, Degrees{2, 2, 1}, Degrees{1, 2, 2}, Degrees{2, 2, 2}}) {
    Plan plan = small_plan(layout_of_degrees(degrees.tensor, degrees.pipeline, degrees.data));
    plan.model.tied_embeddings = true;
    const std::vector<RankResult> reference = run_as_threads(reference_plan(plan), kSteps);
    const std::vector<RankResult> ranks = run_as_threads(plan, kSteps);
    const WholeTensors whole = whole_gradients(ranks);
    expect_complete(whole, plan);
    EXPECT_LE(compare(whole, whole_gradients(reference)).largest, kTolerance);
    expect_same_training(ranks, reference[0]);
    expect_counts(ranks);
  }
}

// A model is the same file, byte for byte, whatever layout holds it. No steps: all start from equal weights.
TEST(SavedModel, IsTheSameFileUnderEveryLayout) {
  const auto saved = [](int tensor, int pipeline, int data) {
    return saved_weights(small_plan(layout_of_degrees(tensor, pipeline, data)));
  };
  const std::string one = saved(1, 1, 1);
  EXPECT_GT(one.size(), 4U * 218048U);  // 2 (259 x 64) + 64 + 4 (128 + 64 (2 x 64 + 2 x 32 + 3 x 176))
  EXPECT_TRUE(saved(2, 1, 2) == one);
  EXPECT_TRUE(saved(2, 2, 1) == one);
  EXPECT_TRUE(saved(1, 4, 1) == one);
  EXPECT_TRUE(saved(1, 2, 2) == one);
}

// --- Seeded bugs: each must be seen by the comparison above. -----------------------------------------------

namespace {

Layout two_data_ranks() {
  Layout layout;
  layout.data = 2;
  layout.accumulation = 4;
  return layout;
}

struct Seen {
  Difference gradients;
  double adamw_losses = 0;
  double sgd_losses = 0;
};

Seen effect_of(Fault fault) {
  Seen seen;
  for (const OptimizerKind optimizer : {OptimizerKind::kAdamW, OptimizerKind::kSgd}) {
    const Plan plan = small_plan(two_data_ranks(), optimizer);
    const std::vector<RankResult> reference = run_as_threads(reference_plan(plan), kSteps);
    const std::vector<RankResult> faulty = run_as_threads(plan, kSteps, {.fault = fault});
    seen.gradients = compare(whole_gradients(faulty), whole_gradients(reference));
    const double losses = largest_loss_difference(faulty[0], reference[0]);
    (optimizer == OptimizerKind::kAdamW ? seen.adamw_losses : seen.sgd_losses) = losses;
  }
  return seen;
}

}  // namespace

TEST(SeededBug, NoneIsSeenWithoutOne) {
  const Seen seen = effect_of(Fault::kNone);
  EXPECT_LE(seen.gradients.largest, kTolerance);
  EXPECT_LE(seen.sgd_losses, kTolerance);
}

// 1.01 g differs from g by 1 % of its norm.
TEST(SeededBug, AGradientScaledByOnePercentIsSeenInThatTensor) {
  const Seen seen = effect_of(Fault::kScaleGradient);
  EXPECT_EQ(seen.gradients.parameter, "model.layers.0.mlp.gate_proj.weight");
  EXPECT_NEAR(seen.gradients.largest, 0.01, 1e-4);
  EXPECT_GT(seen.sgd_losses, kTolerance);
}

// The losses of 20 steps change by 1.6e-6 only, even with SGD: it takes the tensors to see it.
TEST(SeededBug, ANormLeftOutOfTheReductionIsSeenInThatTensor) {
  const Seen seen = effect_of(Fault::kSkipNormReduce);
  EXPECT_EQ(seen.gradients.parameter, "model.layers.0.post_attention_layernorm.weight");
  EXPECT_GT(seen.gradients.largest, 0.1);
}

// 32 tokens counted as 31: all gradients 32/31 too large.
TEST(SeededBug, AWrongLossDenominatorIsSeenInEveryTensor) {
  const Seen seen = effect_of(Fault::kWrongLossDenominator);
  EXPECT_NEAR(seen.gradients.largest, 1.0 / 31.0, 1e-3);
}

// --- Bit for bit, where the arithmetic is the same. --------------------------------------------------------

namespace {

void expect_bitwise_equal(const Layout& a, const Layout& b) {
  const std::vector<RankResult> first = run_as_threads(small_plan(a), kSteps);
  const std::vector<RankResult> second = run_as_threads(small_plan(b), kSteps);
  const Difference difference = compare(whole_parameters(first), whole_parameters(second));
  EXPECT_TRUE(difference.bitwise_equal) << describe(a) << " against " << describe(b) << ": " << difference.parameter
                                        << " differs by " << difference.largest;
  EXPECT_EQ(first[0].losses, second[0].losses);
  EXPECT_EQ(first[0].gradient_norms, second[0].gradient_norms);
}

Layout data_parallel(int ranks, bool strict) {
  Layout layout;
  layout.data = ranks;
  layout.accumulation = 8 / ranks;
  layout.strict_reduction = strict;
  return layout;
}

}  // namespace

TEST(BitForBit, TwoRunsOfFourRanks) {
  Layout layout;
  layout.tensor = 2;
  layout.data = 2;
  layout.accumulation = 4;
  expect_bitwise_equal(layout, layout);
}

TEST(BitForBit, ZeroOneIsDataParallel) {
  for (const bool strict : {false, true}) {
    Layout sharded = data_parallel(4, strict);
    sharded.zero_stage = 1;
    expect_bitwise_equal(sharded, data_parallel(4, strict));
  }
}

// A pipeline moves activations and gradients between ranks but computes each micro-batch alike.
TEST(BitForBit, PipelineIsOneRankAtEqualMicroBatches) {
  for (const ScheduleKind schedule : {ScheduleKind::k1f1b, ScheduleKind::kGpipe}) {
    Layout one;
    one.accumulation = 8;
    one.schedule = schedule;
    Layout pipeline = one;
    pipeline.pipeline = 4;
    expect_bitwise_equal(pipeline, one);
  }
}

TEST(BitForBit, OverlapOnAndOff) {
  Layout exposed = data_parallel(2, false);
  exposed.overlap_gradient_reduce = false;
  expect_bitwise_equal(data_parallel(2, false), exposed);
}

TEST(BitForBit, RecomputationOnAndOff) {
  Layout kept;
  kept.accumulation = 8;
  Layout again = kept;
  again.recompute = Recompute::kFull;
  expect_bitwise_equal(kept, again);
}

TEST(BitForBit, ThreadsPerRankChangeNothing) {
  const Plan plan = small_plan(data_parallel(1, false));
  const std::vector<RankResult> one = run_as_threads(plan, kSteps, {.threads_per_rank = 1});
  const std::vector<RankResult> three = run_as_threads(plan, kSteps, {.threads_per_rank = 3});
  EXPECT_TRUE(compare(whole_parameters(one), whole_parameters(three)).bitwise_equal);
}

}  // namespace trainyard::executor
