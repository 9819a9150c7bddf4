#include "simulator/memory/memory_model.h"

#include <gtest/gtest.h>

#include "core/model/huggingface.h"
#include "core/model/layer_shape.h"
#include "core/plan/plan.h"
#include "core/program/program.h"
#include "core/schedule/schedule.h"
#include "simulator/memory/activation_memory.h"
#include "simulator/memory/in_flight.h"
#include "simulator/memory/memory_estimate.h"
#include "tests/simulator/support/profiles.h"

namespace trainyard::simulator {
namespace {

ModelSpec shipped(const std::string& name) {
  return read_huggingface_config(std::string(TRAINYARD_SOURCE_DIR) + "/models/llm/" + name + ".json");
}

Machine h100() {
  const DeviceProfile cluster = llama3_cluster();
  return {cluster.analytic()->accelerator, cluster.analytic()->fabric, {}};
}

Layout bf16() {
  Layout layout;
  layout.compute_type = DataType::kBf16;
  layout.parameter_type = DataType::kBf16;
  layout.communication_type = DataType::kBf16;
  return layout;
}

Layout llama3_run() {
  Layout layout = bf16();
  layout.tensor = 8;
  layout.pipeline = 16;
  layout.data = 128;
  layout.accumulation = 16;
  layout.zero_stage = 2;
  layout.sequence_parallel = true;
  return layout;
}

int chunks_of(ScheduleKind schedule) {
  return schedule == ScheduleKind::kZeroBubbleV || schedule == ScheduleKind::kDualPipe ? 2 : 1;
}

double gib(ByteCount bytes) { return static_cast<double>(bytes.value()) / 0x1p30; }

// GPT, head size times heads = hidden, feed-forward 4 h: per token, of Korthikanti et al. 2022, equation 1, without
// the masks of dropout on the residual stream (2 h): h (34 - 2) + 5 a s = 32 h + 5 a s.
TEST(ActivationMemory, OfAPlainLayerIsKorthikantisFormula) {
  ModelSpec model;
  model.layers = 1;
  model.hidden = 1024;
  model.feed_forward = 4096;
  model.heads = 16;
  model.key_value_heads = 16;
  model.head_size = 64;
  model.vocabulary = 1000;
  model.gated_feed_forward = false;
  const LayerShape layer = layer_shape(model, 0);
  MemoryHabits habits;
  habits.unfused_attention = true;
  Layout layout = bf16();
  EXPECT_DOUBLE_EQ(activation_bytes(layer, layout, habits, 512).all, 32.0 * 1024 + 5.0 * 16 * 512);
  // Tensor-parallel over 4 without sequence parallelism: 8 h whole (inputs of norms and of products), the rest cut.
  layout.tensor = 4;
  EXPECT_DOUBLE_EQ(activation_bytes(layer, layout, habits, 512).all, 8.0 * 1024 + (24.0 * 1024 + 5.0 * 16 * 512) / 4);
  layout.sequence_parallel = true;
  EXPECT_DOUBLE_EQ(activation_bytes(layer, layout, habits, 512).all, (32.0 * 1024 + 5.0 * 16 * 512) / 4);
  layout.recompute = Recompute::kSelective;
  EXPECT_DOUBLE_EQ(activation_bytes(layer, layout, habits, 512).all, 32.0 * 1024 / 4);
  EXPECT_DOUBLE_EQ(activation_bytes(layer, layout, habits, 512).input, 2.0 * 1024 / 4);
}

// 8 stages, 32 micro-batches; the schedules' papers.
TEST(InFlight, FollowsTheSchedule) {
  Layout layout;
  layout.pipeline = 8;
  layout.accumulation = 32;
  layout.schedule = ScheduleKind::kGpipe;
  EXPECT_EQ(micro_batches_in_flight(layout, 0), 32);
  layout.schedule = ScheduleKind::k1f1b;
  EXPECT_EQ(micro_batches_in_flight(layout, 0), 8);
  EXPECT_EQ(micro_batches_in_flight(layout, 7), 1);
  layout.schedule = ScheduleKind::kZeroBubbleH2;
  EXPECT_EQ(micro_batches_in_flight(layout, 3), 15);
  layout.schedule = ScheduleKind::kInterleaved;
  layout.chunks_per_stage = 4;
  EXPECT_DOUBLE_EQ(micro_batches_in_flight(layout, 0), (14 + 24 + 1) / 4.0);
  layout.accumulation = 2;
  EXPECT_DOUBLE_EQ(micro_batches_in_flight(layout, 0), 2.0);
}

// The most that the turns of core/schedule leave between input and weight gradient, in whole stages' worth.
TEST(InFlight, DeferredAsTheTurnsHaveIt) {
  Layout layout;
  layout.pipeline = 8;
  layout.accumulation = 32;
  for (const auto& [schedule, chunks] : std::vector<std::pair<ScheduleKind, int>>{{ScheduleKind::k1f1b, 1},
                                                                                  {ScheduleKind::kZeroBubbleH1, 1},
                                                                                  {ScheduleKind::kZeroBubbleH2, 1},
                                                                                  {ScheduleKind::kZeroBubbleV, 2}}) {
    layout.schedule = schedule;
    layout.chunks_per_stage = chunks;
    for (int stage = 0; stage < layout.pipeline; ++stage) {
      int deferred = 0;
      int most = 0;
      for (const Slot& slot : stage_schedule(schedule, layout.pipeline, stage, chunks, 32)) {
        deferred += slot.kind == SlotKind::kBackwardInput ? 1 : 0;
        most = std::max(most, deferred);
        deferred -= slot.kind == SlotKind::kBackwardWeight ? 1 : 0;
      }
      const double alone = schedule == ScheduleKind::k1f1b ? 1.0 : 0.0;  // both halves of one micro-batch
      EXPECT_DOUBLE_EQ(weight_gradients_deferred(layout, stage), static_cast<double>(most) / chunks - alone)
          << to_string(schedule) << " stage " << stage;
    }
  }
}

// Grattafiori et al. 2024, table 4: tp 8, pp 16, dp 128 on 80 GB H100, nothing recomputed. Optimizer and gradients are
// sharded. 405.9 B parameters over 128 ranks, about 7/8 of 8 layers and an embedding on the worst stage: 5.9 GiB.
TEST(MemoryModel, Llama3sRunFits) {
  const MemoryModel model({shipped("llama-3.1-405b"), 8192, 2048}, h100());
  const MemoryPrice price = model.price(llama3_run());
  EXPECT_LE(price.total, model.available());
  EXPECT_GT(gib(price.total), 55.0);
  EXPECT_NEAR(gib(price.of(MemoryUse::kParameters)), 6.0, 0.4);
  EXPECT_FALSE(exceeds_memory(price, llama3_run(), model.available()).has_value());
}

// What the search lets through, the program has memory for: the worst stages of both, where weight gradients come
// later.
TEST(MemoryModel, IsNotBelowTheProgramOfZeroBubbleSchedules) {
  struct Case {
    ScheduleKind schedule;
    int tensor;
    int context;
    int pipeline;
    int data;
    std::int64_t micro_batch;
    int recompute_every;  // 0: nothing again
  };
  const DeviceProfile cluster = llama3_cluster();
  Plan plan;
  plan.model = shipped("llama-3-70b");
  plan.training.sequence = 8192;
  plan.training.global_batch = 128;
  plan.training.steps = 1;
  const MemoryModel model({plan.model, 8192, 128}, h100());
  for (const Case& c :
       {Case{ScheduleKind::kZeroBubbleH1, 8, 1, 4, 8, 1, 0}, Case{ScheduleKind::kZeroBubbleH1, 4, 2, 8, 4, 1, 0},
        Case{ScheduleKind::kZeroBubbleH2, 8, 2, 8, 4, 1, 0}, Case{ScheduleKind::kZeroBubbleH2, 8, 1, 16, 2, 1, 0},
        Case{ScheduleKind::kZeroBubbleV, 4, 2, 8, 4, 1, 0}, Case{ScheduleKind::kZeroBubbleV, 8, 1, 4, 8, 1, 4},
        Case{ScheduleKind::kDualPipe, 8, 1, 4, 4, 2, 0}, Case{ScheduleKind::kZeroBubbleV, 1, 8, 8, 4, 1, 0}}) {
    Layout layout = bf16();
    layout.schedule = c.schedule;
    layout.chunks_per_stage = chunks_of(c.schedule);
    layout.tensor = c.tensor;
    layout.context = c.context;
    layout.pipeline = c.pipeline;
    layout.data = c.data;
    layout.micro_batch = c.micro_batch;
    layout.accumulation = 128 / (c.data * c.micro_batch);
    layout.zero_stage = 1;
    layout.sequence_parallel = c.tensor > 1;
    if (c.recompute_every > 0) {
      layout.recompute = Recompute::kFull;
      layout.recompute_every = c.recompute_every;
    }
    plan.layout = layout;
    const Program program = compile(plan, ProgramKind::kTraining, RoleDetail::kByStage);
    const ByteCount needs = worst(estimate_memory(program, cluster)).total;
    const ByteCount priced = model.price(layout).total;
    EXPECT_GE(gib(priced), gib(needs)) << describe(layout);
    EXPECT_LE(gib(priced), 1.1 * gib(needs)) << describe(layout);
  }
}

TEST(MemoryModel, PartsAddUpToTheTotal) {
  const MemoryModel model({shipped("llama-3-8b"), 8192, 128}, h100());
  for (const int zero : {0, 1, 2, 3}) {
    Layout layout = bf16();
    layout.data = 16;
    layout.accumulation = 8;
    layout.zero_stage = zero;
    const MemoryPrice price = model.price(layout);
    ByteCount sum;
    for (const ByteCount part : price.by_use) {
      sum += part;
    }
    EXPECT_EQ(sum, price.total);
    EXPECT_LT(price.allocated, price.total);
  }
}

// Rajbhandari et al. 2020, section 3: with N ranks, bf16 parameters (2), fp32 gradients (4) and AdamW's 12 bytes:
// 18 P, (6 + 12/N) P, (2 + 16/N) P, 18/N P.
TEST(MemoryModel, ZeroSharesOutWhatItsStageSays) {
  const MemoryModel model({shipped("llama-3-8b"), 8192, 128}, h100());
  const double parameters = 8030261248.0;
  const double n = 16.0;
  const double expected[] = {18.0, 6.0 + 12.0 / n, 2.0 + 16.0 / n, 18.0 / n};
  for (const int zero : {0, 1, 2, 3}) {
    Layout layout = bf16();
    layout.data = 16;
    layout.accumulation = 8;
    layout.zero_stage = zero;
    const MemoryPrice price = model.price(layout);
    const ByteCount state =
        price.of(MemoryUse::kParameters) + price.of(MemoryUse::kGradients) + price.of(MemoryUse::kOptimizer);
    EXPECT_NEAR(static_cast<double>(state.value()) / parameters, expected[zero], 1e-6) << zero;
  }
}

// What saves memory never needs more of it.
TEST(MemoryModel, RecomputationAndOffloadOnlySave) {
  const MemoryModel model({shipped("llama-3-70b"), 8192, 256}, h100());
  Layout layout = bf16();
  layout.tensor = 4;
  layout.pipeline = 4;
  layout.data = 8;
  layout.accumulation = 32;
  layout.zero_stage = 1;
  const ByteCount plain = model.price(layout).total;
  Layout every = layout;
  every.recompute = Recompute::kFull;
  every.recompute_every = 4;
  const ByteCount some = model.price(every).total;
  every.recompute_every = 1;
  const ByteCount all = model.price(every).total;
  EXPECT_LT(some, plain);
  EXPECT_LT(all, some);
  for (const Offload offload :
       {Offload{true, false, false}, Offload{false, true, false}, Offload{false, false, true}}) {
    Layout offloaded = layout;
    offloaded.offload = offload;
    EXPECT_LT(model.price(offloaded).total, plain);
  }
}

TEST(MemoryModel, ExcessNamesStageRankCauseAndAmount) {
  const MemoryModel model({shipped("llama-3-70b"), 8192, 256}, h100());
  Layout layout = bf16();
  layout.data = 256;
  const auto excess = exceeds_memory(model.price(layout), layout, model.available());
  ASSERT_TRUE(excess.has_value());
  EXPECT_EQ(excess->reason, InfeasibleReason::kMemory);
  EXPECT_NE(excess->detail.find("stage 0 (rank 0) needs"), std::string::npos) << excess->detail;
  EXPECT_NE(excess->detail.find("for optimizer"), std::string::npos) << excess->detail;
}

TEST(MemoryModel, TheStagesFullestIsThePrice) {
  const Workload workload{shipped("llama-3.1-405b"), 8192, 2048};
  const MemoryModel model(workload, h100());
  const std::vector<MemoryPrice> stages = model.stages(llama3_run());
  ASSERT_EQ(stages.size(), 16U);
  const MemoryPrice price = model.price(llama3_run());
  EXPECT_EQ(stages[static_cast<std::size_t>(price.stage)].total, price.total);
  for (const MemoryPrice& stage : stages) {
    EXPECT_LE(stage.total, price.total);
  }
}

}  // namespace
}  // namespace trainyard::simulator
