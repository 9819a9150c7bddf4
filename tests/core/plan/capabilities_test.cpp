#include "core/plan/capabilities.h"

#include <gtest/gtest.h>

#include "tests/core/program/layouts.h"

namespace trainyard {
namespace {

Capabilities cpu() {
  return {.device = "cpu",
          .compute_types = {DataType::kFp32},
          .schedules = {ScheduleKind::k1f1b},
          .recompute = {Recompute::kNone},
          .highest_zero_stage = 1,
          .tensor_parallel = true,
          .pipeline_parallel = true,
          .max_ranks = 8};
}

std::string reason(const Layout& layout, const ModelSpec& model = {}) {
  const std::optional<Infeasible> infeasible = why_not(cpu(), model, layout);
  if (!infeasible) {
    return "";
  }
  EXPECT_EQ(to_string(infeasible->reason), "unsupported");
  return infeasible->detail;
}

TEST(Capabilities, LetPassWhatTheExecutorRuns) {
  EXPECT_EQ(reason({}), "");
  EXPECT_EQ(reason({.tensor = 2, .pipeline = 2, .data = 2, .zero_stage = 1}), "");
}

TEST(Capabilities, NameTheFirstThingInTheWay) {
  EXPECT_EQ(reason({.data = 16}), "the cpu executor runs at most 8 ranks of 16");
  EXPECT_EQ(reason({.context = 2}), "the cpu executor has no context parallelism (context 2)");
  EXPECT_EQ(reason({.expert = 2}), "the cpu executor has no expert parallelism (expert 2)");
  EXPECT_EQ(reason({.sequence_parallel = true}), "the cpu executor has no sequence parallelism");
  EXPECT_EQ(reason({.zero_stage = 3}), "the cpu executor has no ZeRO stage 3 (highest: 1)");
  EXPECT_EQ(reason({.schedule = ScheduleKind::kGpipe}), "the cpu executor has no schedule gpipe");
  EXPECT_EQ(reason({.schedule = ScheduleKind::kInterleaved, .chunks_per_stage = 2}),
            "the cpu executor has no interleaved stages (2 chunks per stage)");
  EXPECT_EQ(reason({.recompute = Recompute::kFull}), "the cpu executor has no recomputation full");
  EXPECT_EQ(reason({.gradient_type = DataType::kBf16}), "the cpu executor has no type bf16");
}

// tf32 multiplies what is stored in fp32.
TEST(Capabilities, TakeTf32ProductsOfFp32Weights) {
  Capabilities capabilities = cpu();
  EXPECT_EQ(reason({.compute_type = DataType::kTf32}), "the cpu executor has no type tf32");
  capabilities.compute_types.push_back(DataType::kTf32);
  EXPECT_EQ(why_not(capabilities, {}, {.compute_type = DataType::kTf32}), std::nullopt);
  capabilities.compute_types.push_back(DataType::kBf16);
  const auto refused = why_not(capabilities, {}, {.compute_type = DataType::kTf32, .parameter_type = DataType::kBf16});
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->detail, "the cpu executor has no weights in bf16 beside products in tf32");
}

// fp8 multiplies what is stored in bf16.
TEST(Capabilities, TakeFp8ProductsOfBf16Weights) {
  Capabilities capabilities = cpu();
  capabilities.compute_types = {DataType::kFp32, DataType::kBf16, DataType::kFp8};
  Layout layout{.compute_type = DataType::kFp8, .parameter_type = DataType::kBf16};
  layout.communication_type = DataType::kBf16;
  EXPECT_EQ(why_not(capabilities, {}, layout), std::nullopt);
  layout.parameter_type = DataType::kFp8;
  const auto refused = why_not(capabilities, {}, layout);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->detail, "the cpu executor has no weights in fp8 beside products in fp8");
}

TEST(Capabilities, NameWhatALayoutAsksBeyondThem) {
  EXPECT_EQ(reason({.offload = {.optimizer = true}}), "the cpu executor has no offloading");
  EXPECT_EQ(reason({.chunk_layers = {3, 5}}), "the cpu executor has no given layers of each chunk (chunk_layers)");
  EXPECT_EQ(reason({.recompute_every = 2}),
            "the cpu executor has no recomputation of some layers only (recompute_every 2)");
}

// "gelu" is x Phi(x); the kernels have GPT-2's own, by tanh, and must not run the one for the other.
TEST(Capabilities, TellTheTwoGelusApart) {
  ModelSpec model = testing::gpt2_model();
  Capabilities capabilities = cpu();
  capabilities.gpt2_blocks = true;
  EXPECT_FALSE(why_not(capabilities, model, {}));
  model.activation = Activation::kGelu;
  const std::optional<Infeasible> refused = why_not(capabilities, model, {});
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->detail.find("gelu_new"), std::string::npos) << refused->detail;
}

TEST(Capabilities, RunLlamaBlocksOnly) {
  EXPECT_EQ(reason({}, {.experts = MixtureOfExperts{}}), "the cpu executor has no mixture of experts");
  EXPECT_EQ(reason({}, {.normalization = Normalization::kLayer}), "the cpu executor has no layer norm");
  EXPECT_EQ(reason({}, {.gated_feed_forward = false}), "the cpu executor has no feed-forward but gated silu");
  EXPECT_EQ(reason({}, {.query_key_value_bias = true}), "the cpu executor has no biases");
  EXPECT_EQ(reason({}, {.multi_token_layers = 1}), "the cpu executor has no multi-token prediction");
  EXPECT_EQ(reason({}, {.parallel_branches = true}), "the cpu executor has no attention beside feed-forward");
  EXPECT_EQ(reason({}, {.family = ModelFamily::kPhi3}),
            "the cpu executor has no weights as the family phi3 stores them");
  EXPECT_EQ(reason({}, {.family = ModelFamily::kMistral}), "") << "without a window it is a Llama";
}

TEST(Capabilities, TieEmbeddingsOnlyWithinAStage) {
  ModelSpec tied;
  tied.tied_embeddings = true;
  EXPECT_EQ(reason({}, tied), "");
  EXPECT_EQ(reason({.pipeline = 2}, tied), "the cpu executor has no tied embeddings across pipeline stages");
}

}  // namespace
}  // namespace trainyard
