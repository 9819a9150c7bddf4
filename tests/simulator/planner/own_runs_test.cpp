// Anchoring a stack on runs of one's own: Llama 3 8B on H100 nodes.
#include "simulator/planner/own_runs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "core/model/huggingface.h"
#include "simulator/planner/search_machine.h"
#include "tests/simulator/support/profiles.h"

namespace trainyard::simulator {
namespace {

Machine h100() {
  const DeviceProfile cluster = llama3_cluster();
  return {cluster.analytic()->accelerator, cluster.analytic()->fabric, find_stack(cluster.analytic()->accelerator, "")};
}

Plan plan_of(int tensor, int pipeline, int data) {
  Plan plan;
  plan.model = read_huggingface_config(std::string(TRAINYARD_SOURCE_DIR) + "/models/llm/llama-3-8b.json");
  plan.training.sequence = 8192;
  plan.training.global_batch = 64;
  plan.layout.tensor = tensor;
  plan.layout.pipeline = pipeline;
  plan.layout.data = data;
  plan.layout.accumulation = 64 / data;
  plan.layout.zero_stage = 1;
  plan.layout.compute_type = plan.layout.parameter_type = plan.layout.communication_type = DataType::kBf16;
  return plan;
}

Seconds predicted(const Plan& plan, Machine machine, const StackProfile& stack) {
  machine.stack = stack;
  const Workload workload{plan.model, plan.training.sequence, plan.training.global_batch};
  return curve_pricers(machine)(workload, machine)()->price(plan.layout).step_time;
}

OwnRun slower(const Plan& plan, const Machine& machine, double factor, const std::string& name = "mine.json") {
  return own_run(name, plan, machine, factor * predicted(plan, machine, machine.stack));
}

// Every time of a step is a rate's, or one of the times and factors that the scale goes into. What is left: the pipe
// between stages, which isn't the stack's.
TEST(AnchoredStack, AScaleFoldedIntoConstantsScalesTheStep) {
  const Machine machine = h100();
  for (const Plan& plan : {plan_of(1, 1, 8), plan_of(4, 1, 4), plan_of(2, 2, 4)}) {
    StackProfile scaled = machine.stack;
    scaled.scale = 1.25;
    const StackProfile folded = with_scale_folded(scaled);
    EXPECT_EQ(folded.scale, 1.0);
    EXPECT_NEAR(predicted(plan, machine, folded) / predicted(plan, machine, machine.stack), 1.25, 0.01);
  }
}

// Products of unfused attention run at a share of large products' rate, and its scores at one of memory's: both have
// the scale already.
TEST(AnchoredStack, AScaleIsFoldedOnceIntoUnfusedAttention) {
  Machine machine = h100();
  machine.stack.attention = AttentionKernel::kUnfused;
  const Plan plan = plan_of(4, 1, 4);
  StackProfile scaled = machine.stack;
  scaled.scale = 1.25;
  EXPECT_NEAR(predicted(plan, machine, with_scale_folded(scaled)) / predicted(plan, machine, machine.stack), 1.25,
              0.01);
}

// A profile that a run has set already, saved and read again: more runs move it, but its interval narrows for one
// alone.
TEST(AnchoredStack, AnchoringTwiceNarrowsOnce) {
  const Machine machine = h100();
  const OwnRun run = slower(plan_of(4, 1, 4), machine, 1.0);
  const StackProfile once =
      parse_stack_profile(stack_profile_text(anchored_on(machine.stack, {run}).profile), "saved.json");
  EXPECT_TRUE(once.anchored);
  const StackProfile twice = anchored_on(once, {run}).profile;
  EXPECT_EQ(twice.name, once.name);
  EXPECT_EQ(twice.band_experts, once.band_experts);
}

// A file may say that nothing is lost between small products.
TEST(AnchoredStack, AConstantOfZeroIsTaken) {
  const Machine machine = h100();
  StackProfile without = machine.stack;
  without.constants.at(static_cast<std::size_t>(StackConstant::kGemmOverhead)) = 0.0;
  const OwnRun run = slower(plan_of(4, 1, 4), machine, 1.2);
  const AnchoredStack anchored = anchored_on(without, {run});
  EXPECT_NEAR(anchored.runs[0].after / anchored.runs[0].measured, 1.0, 0.06);
}

// A run 20 % slower than predicted. Runs of a stack differ among themselves, so that it isn't taken whole, but most.
TEST(AnchoredStack, FollowsTheRunAndTakesOtherLayoutsWithIt) {
  const Machine machine = h100();
  const Plan mine = plan_of(4, 1, 4);
  const AnchoredStack anchored = anchored_on(machine.stack, {slower(mine, machine, 1.2)});
  ASSERT_EQ(anchored.runs.size(), 1U);
  EXPECT_EQ(anchored.runs[0].name, "mine.json");
  EXPECT_NEAR(anchored.runs[0].measured / anchored.runs[0].before, 1.2, 1e-6);
  EXPECT_NEAR(anchored.runs[0].after / anchored.runs[0].measured, 1.0, 0.06);
  EXPECT_NEAR(predicted(mine, machine, anchored.profile) / anchored.runs[0].after, 1.0, 1e-9);
  for (const Plan& other : {plan_of(2, 2, 4), plan_of(1, 1, 16)}) {
    const double moved = predicted(other, machine, anchored.profile) / predicted(other, machine, machine.stack);
    EXPECT_GT(moved, 1.05);
    EXPECT_LT(moved, 1.3);
  }
}

TEST(AnchoredStack, NarrowsTheIntervalAndSaysSoInItsName) {
  const Machine machine = h100();
  const AnchoredStack anchored = anchored_on(machine.stack, {slower(plan_of(4, 1, 4), machine, 1.0)});
  EXPECT_LT(anchored.profile.band, machine.stack.band);
  EXPECT_LT(anchored.profile.band_experts, machine.stack.band_experts);
  EXPECT_NE(anchored.profile.name.find("anchored"), std::string::npos);
  EXPECT_NEAR(anchored.runs[0].after / anchored.runs[0].before, 1.0, 1e-3);  // a run as predicted changes nothing
}

// Three times as slow is more than any two stacks differ: the profile goes part of the way, and the interval the rest.
TEST(AnchoredStack, AnIntervalHoldsTheRunsItWasAnchoredOn) {
  const Machine machine = h100();
  const AnchoredStack anchored = anchored_on(machine.stack, {slower(plan_of(4, 1, 4), machine, 3.0)});
  const AnchorEffect& run = anchored.runs[0];
  EXPECT_GT(run.after / run.before, 1.5);
  EXPECT_LE(run.measured.si(), run.after.si() * std::exp(anchored.profile.band) * (1.0 + 1e-9));
}

TEST(AnchoredStack, TheOrderOfRunsDoesNotMatter) {
  const Machine machine = h100();
  const OwnRun a = slower(plan_of(4, 1, 4), machine, 1.2, "a");
  const OwnRun b = slower(plan_of(1, 1, 16), machine, 1.05, "b");
  const AnchoredStack first = anchored_on(machine.stack, {a, b});
  const AnchoredStack second = anchored_on(machine.stack, {b, a});
  const Plan other = plan_of(2, 2, 4);
  EXPECT_NEAR(predicted(other, machine, first.profile) / predicted(other, machine, second.profile), 1.0, 1e-6);
}

TEST(AnchoredStack, ATimeThatCannotBeThisRunsIsRefused) {
  const Machine machine = h100();
  EXPECT_THROW(anchored_on(machine.stack, {slower(plan_of(4, 1, 4), machine, 8.0)}), Error);
  EXPECT_THROW(anchored_on(machine.stack, {slower(plan_of(4, 1, 4), machine, 0.05)}), Error);
  EXPECT_THROW(own_run("mine", plan_of(4, 1, 4), machine, Seconds()), Error);
}

// An A100's row: taken for a stack on Hopper it would set constants of other kernels.
TEST(AnchoredStack, RowsAreTakenForTheirGenerationOnly) {
  const std::string rows = R"([{"id": "mine", "source_key": "us", "group": "g", "year": 2024, "score_ready": true,
    "model": {"name": "GPT 22B", "seq_len": 2048, "layers": 48, "hidden": 6144, "ffn_hidden": 24576, "heads": 64,
              "kv_heads": 64, "head_dim": 96, "vocab": 51200, "activation": "gelu", "attention": "MHA"},
    "hardware": {"gpu": "A100-SXM4-80GB", "gpus_total": 8, "gpus_per_node": 8},
    "parallelism": {"tp": 8, "pp": 1, "dp": 1, "cp": 1, "vpp": 1, "sequence_parallel": true, "micro_batch": 4,
                    "global_batch": 4, "grad_accum": 1, "recompute": "none", "precision": "bf16"},
    "measured": {"iteration_time_s": 1.0}, "derived": {"iteration_time_s": 1.0}}])";
  Accelerator ampere = h100().accelerator;
  ampere.name = "a100-sxm-80";
  const std::vector<OwnRun> runs = own_runs(rows, "rows.json", ampere);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].name, "mine");
  EXPECT_NEAR(runs[0].row.step_s(), 1.0, 1e-9);
  try {
    own_runs(rows, "rows.json", h100().accelerator);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("A100-SXM4-80GB"), std::string::npos) << error.what();
  }
}

TEST(AnchoredStack, RowsWithoutAMeasurementAreRefusedWithTheReason) {
  try {
    own_runs("[]", "rows.json", h100().accelerator);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("rows.json"), std::string::npos);
  }
}

}  // namespace
}  // namespace trainyard::simulator
