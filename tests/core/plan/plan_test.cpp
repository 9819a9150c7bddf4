#include "core/plan/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/document/read_file.h"
#include "core/model/huggingface.h"
#include "tests/core/plan/sample_plan.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_folder.h"

namespace trainyard {
namespace {

using nlohmann::ordered_json;

// Sets the value at a pointer of the sample's document; reading it must fail.
Error refused(const char* pointer, const ordered_json& value) {
  ordered_json json = ordered_json::parse(to_json(sample_plan()));
  json[ordered_json::json_pointer(pointer)] = value;
  return error_of([&] { parse_plan(json.dump(), "plan.json"); });
}

TEST(Plan, ReadsBackWhatItWrites) {
  const Plan plan = sample_plan();
  const Plan read = parse_plan(to_json(plan), "plan.json");
  EXPECT_EQ(read.model, plan.model);
  EXPECT_EQ(read.layout, plan.layout);
  EXPECT_EQ(read.training, plan.training);
  EXPECT_EQ(read.cluster.name, plan.cluster.name);
  EXPECT_EQ(read.cluster.ranks_per_node, plan.cluster.ranks_per_node);
  EXPECT_EQ(read.cluster.device, plan.cluster.device);
  EXPECT_EQ(read.checkpoint, plan.checkpoint);
  EXPECT_EQ(read.recovery, plan.recovery);
  ASSERT_TRUE(read.prediction.has_value());
  EXPECT_EQ(read.prediction->step_time, plan.prediction->step_time) << "to the last bit";
  EXPECT_EQ(read.prediction->tokens_per_second, plan.prediction->tokens_per_second);
  EXPECT_EQ(read.prediction->memory_peak, plan.prediction->memory_peak);
  EXPECT_EQ(read.provenance, plan.provenance);
  EXPECT_EQ(to_json(read), to_json(plan));
}

// Where it counts: a checkpoint belongs to its plan's text, which other plans keep.
TEST(Plan, OfFp16HasALossScale) {
  Plan plan = sample_plan();
  plan.layout.compute_type = DataType::kBf16;
  EXPECT_FALSE(contains(to_json(plan), "loss_scale"));
  plan.layout.compute_type = DataType::kFp16;
  EXPECT_EQ(parse_plan(to_json(plan), "plan.json").training.loss_scaling, (LossScaling{65536, 2000}));
  plan.training.loss_scaling = {.initial = 1024, .growth_steps = 7};
  EXPECT_EQ(parse_plan(to_json(plan), "plan.json").training, plan.training);
}

TEST(Plan, IsWrittenToAFileAndReadFromIt) {
  const TemporaryFolder folder;
  write_plan(sample_plan(), folder.path() / "plan.json");
  EXPECT_EQ(to_json(read_plan(folder.path() / "plan.json")), to_json(sample_plan()));
}

TEST(Plan, LeavesOutWhatHasADefault) {
  ordered_json json = ordered_json::parse(to_json(sample_plan()));
  json["layout"] = {{"tensor", 1}, {"micro_batch", 60}};
  json["training"] = {{"sequence", 100}, {"global_batch", 60}, {"steps", 10}};
  json["cluster"].erase("ranks_per_node");
  for (const char* key : {"checkpoint", "recovery", "prediction", "provenance"}) {
    json.erase(key);
  }
  const Plan plan = parse_plan(json.dump(), "plan.json");
  EXPECT_EQ(plan.layout, (Layout{.micro_batch = 60}));
  EXPECT_EQ(plan.training, (Training{.sequence = 100, .global_batch = 60, .steps = 10}));
  EXPECT_EQ(plan.training.clip_norm, 1.0) << "absent clips at the default; only null turns it off";
  EXPECT_FALSE(plan.prediction.has_value());
  EXPECT_EQ(plan.checkpoint, CheckpointPolicy{});
  EXPECT_EQ(plan.recovery, RecoveryPolicy{});
}

TEST(Plan, KeepsEveryModelOfTheCollection) {
  int models = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(TRAINYARD_SOURCE_DIR) + "/models/llm")) {
    if (entry.path().extension() == ".json") {
      Plan plan;
      plan.model = read_huggingface_config(entry.path());
      plan.training = {.sequence = 1024, .global_batch = 1, .steps = 1};
      plan.training.sequence = std::min<std::int64_t>(plan.training.sequence, plan.model.positions);
      EXPECT_EQ(parse_plan(to_json(plan), "plan.json").model, plan.model) << entry.path();
      ++models;
    }
  }
  EXPECT_GE(models, 28);
}

// Keys of models beyond Llama's family are absent in it: plans of before them are such.
TEST(Plan, SaysNothingOfWhatALlamaHasNot) {
  Plan plan;
  plan.model = read_huggingface_config(std::string(TRAINYARD_SOURCE_DIR) + "/models/llm/llama-3-8b.json");
  plan.training = {.sequence = 1024, .global_batch = 1, .steps = 1};
  const ordered_json model = ordered_json::parse(to_json(plan))["model"];
  EXPECT_EQ(model.size(), 14U);
  EXPECT_EQ(model["family"], "llama");
}

TEST(Plan, NamesTheKeyThatIsWrong) {
  EXPECT_EQ(refused("/layout/tenosr", 2).hint(), "did you mean \"tensor\"?");
  EXPECT_EQ(refused("/layout/bucket", 25).where(), "plan.json#/layout/bucket");
  EXPECT_TRUE(contains(refused("/layout/bucket", 25).problem(), "bare number"));
  EXPECT_TRUE(contains(refused("/layout/bucket", "25 GiB/s").problem(), "another kind"));
  EXPECT_TRUE(contains(refused("/layout/schedule", "zb-h9").hint(), "gpipe, 1f1b, interleaved, zb-h1"));
  EXPECT_EQ(refused("/schema", 99).where(), "plan.json#/schema");
  EXPECT_EQ(refused("/document", "trace").where(), "plan.json#/document");
  EXPECT_EQ(refused("/model/family", "gpt").where(), "plan.json#/model/family");
  for (const char* pointer :
       {"/x", "/model/x", "/cluster/x", "/layout/x", "/training/x", "/checkpoint/x", "/recovery/x", "/prediction/x",
        "/provenance/x", "/model/rope_scaling/x", "/model/experts/x", "/model/sliding_window/x"}) {
    EXPECT_EQ(refused(pointer, 1).where(), std::string("plan.json#") + pointer);
  }
}

TEST(Plan, CutShortIsAnErrorAtEveryLength) {
  const std::string whole = to_json(sample_plan());
  for (std::size_t length = 0; length + 1 < whole.size(); ++length) {
    EXPECT_THROW(parse_plan(whole.substr(0, length), "plan.json"), Error);
  }
}

// Each change makes two parts of the sample contradict each other; the pointer names the one to change.
TEST(ValidatePlan, FindsPartsThatContradictEachOther) {
  const auto where = [](const char* pointer, const ordered_json& value) { return refused(pointer, value).where(); };
  EXPECT_EQ(where("/layout/tensor", 4), "plan.json#/layout/tensor") << "2 key heads";
  EXPECT_EQ(where("/layout/tensor", 0), "plan.json#/layout/tensor");
  EXPECT_EQ(where("/model/layers", 9), "plan.json#/layout/chunk_layers") << "chunks of 8 layers in all";
  EXPECT_EQ(where("/layout/chunk_layers", {4, 4}), "plan.json#/layout/chunk_layers") << "4 chunks";
  EXPECT_EQ(where("/layout/chunk_layers", {3, 0, 4, 1}), "plan.json#/layout/chunk_layers/1") << "an empty one between";
  EXPECT_EQ(where("/training/sequence", 129), "plan.json#/training/sequence") << "128 positions";
  EXPECT_EQ(where("/training/global_batch", 61), "plan.json#/layout/accumulation");
  EXPECT_EQ(where("/layout/schedule", "1f1b"), "plan.json#/layout/chunks_per_stage");
  EXPECT_EQ(where("/layout/chunks_per_stage", 1), "plan.json#/layout/schedule");
  EXPECT_EQ(where("/layout/accumulation", 3), "plan.json#/layout/pipeline") << "interleaved: 2 does not divide 3";
  EXPECT_EQ(where("/layout/rank_order", "tp-pp"), "plan.json#/layout");
  EXPECT_EQ(where("/layout/expert", 5), "plan.json#/layout");
  EXPECT_EQ(where("/model/experts/expert_feed_forward", 33), "plan.json#/layout/expert_tensor") << "by 2";
  EXPECT_EQ(where("/model/experts/experts", 8), "plan.json#/model/experts/groups") << "3 groups";
  EXPECT_EQ(where("/model/experts", nullptr), "plan.json#/layout/expert");
  EXPECT_EQ(where("/layout/shard_group", 4), "plan.json#/layout/shard_group") << "of 6 ranks of data x context";
  EXPECT_EQ(where("/layout/recompute", "none"), "plan.json#/layout/recompute_every");
  EXPECT_EQ(where("/layout/context_kind", "ulysses"), "plan.json#/layout/context") << "2 key heads for 2 x 2 ranks";
  EXPECT_EQ(where("/layout/zero_stage", 4), "plan.json#/layout/zero_stage");
  EXPECT_EQ(where("/model/key_value_heads", 3), "plan.json#/model/key_value_heads");
  EXPECT_EQ(where("/model/head_size", 0), "plan.json#/model/head_size");
  EXPECT_EQ(where("/training/learning_rate", 0), "plan.json#/training/learning_rate");
  EXPECT_EQ(where("/training/beta2", 1.0), "plan.json#/training/beta2");
  EXPECT_EQ(where("/training/clip_norm", 0.0), "plan.json#/training/clip_norm");
  EXPECT_EQ(where("/training/steps", 0), "plan.json#/training/steps");
  EXPECT_EQ(where("/training/initial_loss_scale", 1000), "plan.json#/training/initial_loss_scale");
  EXPECT_EQ(where("/training/initial_loss_scale", 1 << 25), "plan.json#/training/initial_loss_scale");
  EXPECT_EQ(where("/training/loss_scale_growth_steps", 0), "plan.json#/training/loss_scale_growth_steps");
  EXPECT_EQ(where("/checkpoint/every_steps", 0), "plan.json#/checkpoint/every_steps");
  EXPECT_EQ(where("/checkpoint/keep", 0), "plan.json#/checkpoint/keep");
  EXPECT_EQ(where("/recovery/hang_timeout", "0 s"), "plan.json#/recovery/hang_timeout");
  EXPECT_EQ(where("/recovery/hang_timeout", 30), "plan.json#/recovery/hang_timeout") << "no unit";
  EXPECT_EQ(where("/recovery/kind", "pray"), "plan.json#/recovery/kind");
  EXPECT_EQ(where("/recovery/detectors", {"loss_spike", "nose"}), "plan.json#/recovery/detectors");
}

TEST(ValidatePlan, KnowsWhatEachScheduleAsks) {
  const auto where = [](ScheduleKind schedule, int chunks, int pipeline, std::int64_t accumulation) {
    Plan plan = sample_plan();
    plan.layout = {.pipeline = pipeline,
                   .schedule = schedule,
                   .chunks_per_stage = chunks,
                   .micro_batch = 1,
                   .accumulation = accumulation};
    plan.training.global_batch = accumulation;
    try {
      validate(plan, "plan");
    } catch (const Error& error) {
      return error.where();
    }
    return std::string("fine");
  };
  EXPECT_EQ(where(ScheduleKind::kZeroBubbleH1, 1, 4, 8), "fine");
  EXPECT_EQ(where(ScheduleKind::kZeroBubbleH2, 2, 4, 8), "plan#/layout/chunks_per_stage");
  EXPECT_EQ(where(ScheduleKind::kZeroBubbleV, 2, 4, 8), "fine");
  EXPECT_EQ(where(ScheduleKind::kZeroBubbleV, 1, 4, 8), "plan#/layout/chunks_per_stage");
  EXPECT_EQ(where(ScheduleKind::kDualPipe, 2, 8, 16), "fine") << "8 chunks of 8 layers: two copies";
  EXPECT_EQ(where(ScheduleKind::kZeroBubbleV, 2, 8, 16), "plan#/layout/pipeline") << "16 chunks of 8 layers";
  EXPECT_EQ(where(ScheduleKind::kDualPipe, 2, 3, 16), "plan#/layout/pipeline") << "odd";
  EXPECT_EQ(where(ScheduleKind::kDualPipe, 2, 8, 14), "plan#/layout/accumulation") << "less than twice the stages";
}

TEST(ValidatePlan, AsksForEvenHeadsUnderRotaryPositionsOnly) {
  Plan plan = sample_plan();
  plan.model.head_size = 15;
  EXPECT_NO_THROW(validate(plan, "plan"));
  plan.model.position_encoding = PositionEncoding::kRotary;
  EXPECT_EQ(error_of([&] { validate(plan, "plan"); }).where(), "plan#/model/head_size");
}

TEST(ValidatePlan, KnowsTheSizesOfLatentAttention) {
  Plan plan = sample_plan();
  plan.model.latent_attention = {.query_rank = 24, .key_value_rank = 32, .no_rope_size = 12, .rope_size = 4};
  EXPECT_EQ(error_of([&] { validate(plan, "plan"); }).where(), "plan#/model/key_value_heads") << "2 of 4";
  plan.model.key_value_heads = 4;
  EXPECT_EQ(parse_plan(to_json(plan), "plan").model, plan.model);
  plan.model.head_size = 20;
  EXPECT_EQ(error_of([&] { validate(plan, "plan"); }).where(), "plan#/model/head_size") << "12 + 4";
}

// Sizes whose products would overflow 64 bits, or whose program would fill the memory, are refused at once.
TEST(ValidatePlan, RefusesSizesThatCannotBeCounted) {
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  for (const char* pointer : {"/model/layers", "/model/hidden", "/model/feed_forward", "/model/heads",
                              "/model/key_value_heads", "/model/vocabulary", "/model/positions", "/layout/micro_batch",
                              "/layout/accumulation", "/training/steps", "/cluster/ranks_per_node"}) {
    EXPECT_EQ(refused(pointer, huge).where(), std::string("plan.json#") + pointer);
  }
  EXPECT_EQ(refused("/training/steps", huge / 60).where(), "plan.json#/training/steps") << "60 sequences a step";
  EXPECT_EQ(refused("/layout/accumulation", (1 << 18) / 8 + 1).where(), "plan.json#/layout/accumulation")
      << "8 layers: one pass more than 2^18";
  EXPECT_EQ(refused("/layout/micro_batch", (1 << 30) / 100 + 1).where(), "plan.json#/layout/micro_batch")
      << "sequences of 100: more than 2^30 rows";
  EXPECT_EQ(refused("/layout/tensor", 1 << 20).where(), "plan.json#/layout") << "times pp 2 and dp 3: too many ranks";
  EXPECT_EQ(refused("/training/learning_rate", 1e300).where(), "plan.json#/training/learning_rate");
  EXPECT_EQ(refused("/training/weight_decay", 1e300).where(), "plan.json#/training/weight_decay");
}

// 2^60 FLOPs a rank: 8 * 2^14 layers * 4 * 2^20 * 2^20 weights alone are 2^59 for a single token.
TEST(ValidatePlan, RefusesAStepWhoseFlopsCannotBeCounted) {
  Plan plan = sample_plan();
  plan.model = {.name = "large",
                .layers = 1 << 14,
                .hidden = 1 << 20,
                .feed_forward = 1 << 20,
                .heads = 1 << 10,
                .key_value_heads = 1 << 10,
                .head_size = 1 << 10,
                .vocabulary = 256,
                .positions = 128};
  plan.layout = {.micro_batch = 2};
  plan.training.global_batch = 2;
  EXPECT_TRUE(contains(error_of([&] { validate(plan, "plan.json"); }).problem(), "counts end at"));
  plan.layout = {.pipeline = 1 << 10, .micro_batch = 1};
  plan.training.global_batch = 1;
  EXPECT_NO_THROW(validate(plan, "plan.json"));
}

}  // namespace
}  // namespace trainyard
