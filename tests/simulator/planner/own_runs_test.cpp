// Anchoring a stack on runs of one's own: Llama 3 8B on H100 nodes.
#include "simulator/planner/own_runs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "core/error.h"
#include "core/model/huggingface.h"
#include "core/model/model_flops.h"
#include "simulator/planner/search_machine.h"
#include "simulator/throughput/stack_priors.h"
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

StackProfile saved(const StackProfile& profile) {
  return parse_stack_profile(stack_profile_text(profile), "saved.json");
}

double constant(const StackProfile& profile, StackConstant which) { return profile.constant(which); }

// What takes as long as predicted says nothing new: not of a shipped profile, and not of one whose scale went into
// constants beyond what stacks are believed to reach. A run in 0.6 of the time does that to products.
TEST(AnchoredStack, ARunThatTakesWhatIsPredictedChangesNothing) {
  const Machine shipped = h100();
  const Plan plan = plan_of(4, 1, 4);
  Machine fast = shipped;
  fast.stack = saved(anchored_on(shipped.stack, {slower(plan, shipped, 0.6)}).profile);
  const double most = default_stack_priors(fast.stack.fused).at(static_cast<std::size_t>(StackConstant::kGemm)).high;
  ASSERT_GT(constant(fast.stack, StackConstant::kGemm), most);
  for (const Machine& machine : {shipped, fast}) {
    const AnchoredStack anchored = anchored_on(machine.stack, {slower(plan, machine, 1.0)});
    ASSERT_FALSE(anchored.runs[0].known);
    EXPECT_NEAR(anchored.runs[0].after / anchored.runs[0].before, 1.0, 1e-4);
    for (std::size_t i = 0; i < anchored.profile.constants.size(); ++i) {
      EXPECT_NEAR(anchored.profile.constants.at(i) / machine.stack.constants.at(i), 1.0, 1e-3)
          << to_string(static_cast<StackConstant>(i));
    }
  }
}

// The profile keeps which runs it follows: saved, read and given the run again it is the same file, and the run given
// twice at once is one.
TEST(AnchoredStack, ARunCountsOnce) {
  const Machine machine = h100();
  const OwnRun run = slower(plan_of(4, 1, 4), machine, 1.4);
  const StackProfile once = saved(anchored_on(machine.stack, {run}).profile);
  EXPECT_EQ(once.anchors, std::vector<std::string>{run.id});
  const AnchoredStack again = anchored_on(once, {run});
  EXPECT_TRUE(again.runs[0].known);
  EXPECT_EQ(again.runs[0].after, again.runs[0].before);
  EXPECT_EQ(stack_profile_text(again.profile), stack_profile_text(once));
  const AnchoredStack twice = anchored_on(machine.stack, {run, run});
  EXPECT_TRUE(twice.runs[1].known);
  EXPECT_EQ(stack_profile_text(twice.profile), stack_profile_text(once));
}

// A run three times as slow as predicted leaves an interval as wide as it stays away. One more, that takes exactly what
// is predicted then, says nothing against that: the interval stays. It narrows with the first run alone, to half of
// what models with experts have.
TEST(AnchoredStack, AnIntervalNarrowsOnce) {
  Machine machine = h100();
  const double experts = machine.stack.band_experts;
  const AnchoredStack first = anchored_on(machine.stack, {slower(plan_of(4, 1, 4), machine, 3.0)});
  const double left = std::log(first.runs[0].measured / first.runs[0].after);
  ASSERT_GT(left, machine.stack.band_anchored);
  EXPECT_NEAR(first.profile.band, left, 1e-9);
  machine.stack = first.profile;
  const StackProfile second = anchored_on(machine.stack, {slower(plan_of(2, 2, 4), machine, 1.0)}).profile;
  EXPECT_EQ(second.band, first.profile.band);
  EXPECT_EQ(second.band_experts, 0.5 * experts);
  EXPECT_EQ(second.name, first.profile.name);
  EXPECT_EQ(second.anchors.size(), 2U);
}

// A file may say that nothing is lost between small products.
TEST(AnchoredStack, AConstantOfZeroIsTaken) {
  const Machine machine = h100();
  StackProfile without = machine.stack;
  without.constants.at(static_cast<std::size_t>(StackConstant::kGemmOverhead)) = 0.0;
  const OwnRun run = slower(plan_of(4, 1, 4), machine, 1.2);
  const AnchoredStack anchored = anchored_on(without, {run});
  EXPECT_NEAR(anchored.runs[0].after / anchored.runs[0].measured, 1.0, 0.06);
  EXPECT_EQ(constant(anchored.profile, StackConstant::kGemmOverhead), 0.0);
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
  EXPECT_THROW(own_run("mine", plan_of(4, 1, 4), machine, Seconds()), Error);
}

void expect_refused(const std::function<void()>& anchor, const std::string& says) {
  try {
    anchor();
    FAIL() << "taken; expected: " << says;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
  }
}

// 64 sequences of 8192 tokens on 16 GPUs at the peak of their data sheet: no run is faster.
TEST(AnchoredStack, ARunFasterThanThePeakIsRefused) {
  const Machine machine = h100();
  const Plan plan = plan_of(4, 1, 4);
  const Flops flops = 64.0 * 8192.0 * model_flops_per_token(plan.model, 8192, AttentionConvention::kCausal);
  const Seconds ideal = flops / (16.0 * machine.accelerator.peak(DataType::kBf16));
  expect_refused([&] { anchored_on(machine.stack, {own_run("mine.json", plan, machine, 0.98 * ideal)}); },
                 "above 100 % MFU");
  EXPECT_EQ(anchored_on(machine.stack, {own_run("mine.json", plan, machine, 1.02 * ideal)}).runs.size(), 1U);
}

// e^2 is 7.39: a profile's interval may be as wide.
TEST(AnchoredStack, ARunFartherThanTheWidestIntervalIsRefused) {
  const Machine machine = h100();
  const Plan plan = plan_of(4, 1, 4);
  EXPECT_LE(anchored_on(machine.stack, {slower(plan, machine, 7.3)}).profile.band, kWidestBand);
  expect_refused([&] { anchored_on(machine.stack, {slower(plan, machine, 7.5)}); }, "are predicted");
}

// A node of two replicas of 4 ranks, each of 16 sequences a step, reads 32 samples. Where that takes one and a half
// steps, so does the run, whose kernels may be anything. Where it takes three quarters of a step, it waits beside
// writes alone: measured as predicted so, it changes nothing.
TEST(AnchoredStack, WhatARunWaitsForDataIsNotItsKernels) {
  const Machine machine = h100();
  const Plan plan = plan_of(4, 1, 4);
  const Seconds step = predicted(plan, machine, machine.stack);
  InputFeed feed;
  feed.node = from_si<BytesPerSecond>(1e9);
  feed.storage = from_si<BytesPerSecond>(1e15);
  feed.ranks_per_node = 8;
  feed.sample = 1.5 / 32.0 * (step * feed.node);  // read in one and a half steps
  const Seconds fed_step = step + input_stall(feed, plan.layout, step);
  EXPECT_NEAR(fed_step / step, 1.5, 1e-9);
  expect_refused([&] { own_run("mine.json", plan, machine, fed_step, feed); }, "reading its data takes");
  feed.sample = 0.5 * feed.sample;
  feed.write = step;
  feed.steps_between_writes = 4;
  const Seconds saving = step + input_stall(feed, plan.layout, step);
  ASSERT_GT(saving / step, 1.05);
  const AnchoredStack anchored = anchored_on(machine.stack, {own_run("mine.json", plan, machine, saving, feed)});
  EXPECT_NEAR(anchored.runs[0].measured / saving, 1.0, 1e-9);
  EXPECT_NEAR(anchored.runs[0].before / saving, 1.0, 1e-9);
  EXPECT_NEAR(anchored.runs[0].after / saving, 1.0, 1e-4);
}

// Names of clusters and devices tell their GPUs; a site's own name tells nothing, and the machine's own is right.
TEST(AnchoredStack, PlansOfAnotherGenerationAreRefused) {
  const Machine machine = h100();
  Plan plan = plan_of(4, 1, 4);
  const auto run = [&] { own_run("mine.json", plan, machine, from_si<Seconds>(5.0)); };
  for (const char* site : {"superpod-h100", "hgx-h200-1k", "our-site", ""}) {
    plan.cluster.name = site;
    EXPECT_NO_THROW(run()) << site;
  }
  plan.cluster.name = "selene-a100";
  expect_refused(run, "ran on selene-a100, of another generation than h100-sxm");
  plan.cluster = {"our-site", 8, "NVIDIA GB200, NCCL"};
  expect_refused(run, "NVIDIA GB200");
  plan.cluster = {"our-site", 8, "cpu"};
  expect_refused(run, "processors");
  plan.cluster = {machine.fabric.name, 8, "cuda"};
  EXPECT_NO_THROW(run());
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
