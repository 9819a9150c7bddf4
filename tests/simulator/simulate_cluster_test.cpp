// Steps timed by their outlines against steps of whole programs, seed by seed.
#include "simulator/simulate_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/cluster/builder.h"
#include "core/plan/accelerator.h"
#include "simulator/cluster_machine.h"
#include "simulator/memory/memory_estimate.h"
#include "simulator/planner/search_machine.h"
#include "tests/core/program/layouts.h"

namespace trainyard::simulator {
namespace {

constexpr std::int64_t kRanks = 128;

class OneSeed final : public GroupCost {
 public:
  OneSeed(const FlowGroupCost& groups, int seed) : groups_(groups), seed_(seed) {}
  GroupTime time(CollectiveOp op, Bytes size, const GroupShape& group) const override {
    const Seconds time = groups_.time_on_seed(op, size, group, seed_);
    return {time, time, time};
  }

 private:
  const FlowGroupCost& groups_;
  int seed_;
};

struct Hashed {
  Cluster cluster = build_cluster("fat-tree:hosts=16,rail-optimised=no,fabric=ethernet");
  Machine machine;
  FlowGroupOptions options = usual_flow_options(cluster);
  Hashed() {
    machine.accelerator = read_accelerator(std::string(TRAINYARD_SOURCE_DIR) + "/models/accelerators/h100-sxm.json");
    machine.fabric = fabric_of(cluster, "h100-sxm");
    machine.stack = find_stack(machine.accelerator, "");
    options.seeds = 5;
  }
  FlowGroupCost groups() const { return {cluster, kRanks, shipped_collective_models(), options}; }
};

std::vector<Plan> plans() {
  std::vector<Plan> made;
  for (const ScheduleKind schedule :
       {ScheduleKind::k1f1b, ScheduleKind::kInterleaved, ScheduleKind::kZeroBubbleV, ScheduleKind::kDualPipe}) {
    Layout layout;
    layout.schedule = schedule;
    layout.chunks_per_stage = schedule == ScheduleKind::k1f1b ? 1 : 2;
    layout.tensor = 2;
    layout.sequence_parallel = true;
    layout.pipeline = 4;
    layout.data = 16;
    layout.zero_stage = 1;
    layout.accumulation = 16;
    layout.bucket_bytes = ByteCount(1 << 20);
    layout.compute_type = layout.parameter_type = layout.communication_type = DataType::kBf16;
    made.push_back(trainyard::testing::even_plan(trainyard::testing::even_model(), layout));
    made.back().model.hidden = 1024;
    made.back().model.head_size = 128;
    made.back().model.feed_forward = 4096;
  }
  return made;
}

TEST(SimulateCluster, SeedsTakeWhatTheWholeProgramTakesOnThem) {
  const Hashed hashed;
  for (const Plan& plan : plans()) {
    SCOPED_TRACE(describe(plan.layout));
    const FlowGroupCost groups = hashed.groups();
    const Program program = compile(plan, ProgramKind::kTraining, RoleDetail::kByStage);
    std::vector<Nanoseconds> durations;
    for (int seed = 0; seed < 5; ++seed) {
      const StepCosts costs = price_under_stack(program, plan, hashed.machine, OneSeed(groups, seed));
      durations.push_back(simulate_step(program, costs, TraceDetail::kNone).duration);
    }
    const auto first = spread_on_cluster(plan, hashed.machine, hashed.groups(), 1);
    EXPECT_EQ(std::get<StepSpread>(first).median, to_seconds(durations.front()));
    EXPECT_EQ(std::get<StepSpread>(first).seeds, 1);
    std::sort(durations.begin(), durations.end());
    EXPECT_LT(durations.front(), durations.back());
    const auto outcome = simulate_on_cluster(plan, hashed.machine, hashed.groups());
    const ClusterSimulation& whole = std::get<ClusterSimulation>(outcome);
    EXPECT_EQ(whole.spread.median, to_seconds(durations[2]));
    EXPECT_EQ(whole.simulation.step.duration, durations[2]);
    EXPECT_TRUE(whole.simulation.program.hash.empty());  // nothing was compiled whole
    const auto outlined = spread_on_cluster(plan, hashed.machine, hashed.groups(), 5);
    EXPECT_EQ(std::get<StepSpread>(outlined).low, whole.spread.low);
    EXPECT_EQ(std::get<StepSpread>(outlined).median, whole.spread.median);
    EXPECT_EQ(std::get<StepSpread>(outlined).high, whole.spread.high);
  }
}

void expect_same_roles(const Simulation& outlined, const Simulation& traced) {
  ASSERT_EQ(outlined.step.roles.size(), traced.step.roles.size());
  ASSERT_EQ(outlined.program.roles.size(), traced.program.roles.size());
  ASSERT_EQ(outlined.memory.size(), traced.program.roles.size());
  for (std::size_t r = 0; r < outlined.step.roles.size(); ++r) {
    SCOPED_TRACE("role " + std::to_string(r));
    EXPECT_EQ(outlined.step.roles[r].busy, traced.step.roles[r].busy);
    EXPECT_EQ(outlined.step.roles[r].compute, traced.step.roles[r].compute);
    EXPECT_EQ(outlined.step.roles[r].exposed_communication, traced.step.roles[r].exposed_communication);
    EXPECT_EQ(outlined.step.roles[r].waiting, traced.step.roles[r].waiting);
    EXPECT_EQ(outlined.program.roles[r].stage, traced.program.roles[r].stage);
    EXPECT_EQ(outlined.program.roles[r].ranks, traced.program.roles[r].ranks);
  }
}

// Without a trace nothing is compiled whole: times, memory by cause and waterfall are those of the program all the
// same.
TEST(SimulateCluster, WithoutATraceAllIsAsOfTheWholeProgram) {
  const Hashed hashed;
  for (const Plan& plan : plans()) {
    SCOPED_TRACE(describe(plan.layout));
    const auto outlined = simulate_on_cluster(plan, hashed.machine, hashed.groups());
    const auto traced = simulate_on_cluster(plan, hashed.machine, hashed.groups(), TraceDetail::kSlices);
    const ClusterSimulation& a = std::get<ClusterSimulation>(outlined);
    const ClusterSimulation& b = std::get<ClusterSimulation>(traced);
    EXPECT_EQ(b.simulation.program.hash, compile(plan, ProgramKind::kTraining, RoleDetail::kByStage).hash);
    EXPECT_EQ(a.simulation.step.duration, b.simulation.step.duration);
    EXPECT_EQ(a.waterfall.role, b.waterfall.role);
    EXPECT_EQ(a.waterfall.losses, b.waterfall.losses);
    EXPECT_EQ(a.hfu, b.hfu);
    EXPECT_EQ(a.low, b.low);
    EXPECT_EQ(a.high, b.high);
    EXPECT_EQ(a.simulation.estimate.memory_peak, b.simulation.estimate.memory_peak);
    expect_same_roles(a.simulation, b.simulation);
    const DeviceProfile profile = analytic_profile(hashed.machine.accelerator, hashed.machine.fabric);
    const std::vector<RoleMemory> memory = estimate_memory(b.simulation.program, profile);
    for (std::size_t r = 0; r < memory.size(); ++r) {
      EXPECT_EQ(a.simulation.memory[r].by_cause, memory[r].by_cause) << "role " << r;
      EXPECT_EQ(a.simulation.memory[r].total, memory[r].total) << "role " << r;
    }
  }
}

// Of a device a third as large as what the worst stage needs: the same stage, rank, amounts and cause.
TEST(SimulateCluster, WhatDoesNotFitIsSaidAsOfTheWholeProgram) {
  Hashed hashed;
  for (const Plan& plan : plans()) {
    const DeviceProfile roomy = analytic_profile(hashed.machine.accelerator, hashed.machine.fabric);
    const Program program = compile(plan, ProgramKind::kTraining, RoleDetail::kByStage);
    Machine machine = hashed.machine;
    machine.accelerator.memory.value = ByteCount(worst(estimate_memory(program, roomy)).total.value() / 3);
    const DeviceProfile tight = analytic_profile(machine.accelerator, machine.fabric);
    const auto expected = exceeds_memory(estimate_memory(program, tight), tight, 8);
    ASSERT_TRUE(expected.has_value());
    const auto outcome = spread_on_cluster(plan, machine, hashed.groups(), 1);
    ASSERT_TRUE(std::holds_alternative<Infeasible>(outcome));
    EXPECT_EQ(std::get<Infeasible>(outcome).detail, expected->detail);
    EXPECT_EQ(std::get<Infeasible>(outcome).needed, expected->needed);
  }
}

// Reading takes 2.5 s, a step 3 s: it waits for nothing, but one at the low end of the interval or of the seeds does.
// No note: what is shown doesn't wait.
TEST(SimulateCluster, TheLowEndWaitsForDataWhereTheMedianDoesNot) {
  const auto seconds = [](double value) { return from_si<Seconds>(value); };
  ClusterSimulation result;
  result.simulation.estimate.step_time = seconds(3.0);
  result.simulation.estimate.mfu = 0.4;
  result.spread = {seconds(3.0), seconds(2.4), seconds(3.6), 5};
  result.low = seconds(2.0);
  result.high = seconds(4.0);
  InputFeed feed;
  feed.sample = from_si<Bytes>(2.5e9);
  feed.node = from_si<BytesPerSecond>(1e9);
  feed.storage = from_si<BytesPerSecond>(1e12);
  wait_for_input(result, feed);
  EXPECT_EQ(result.low, seconds(2.5));
  EXPECT_EQ(result.spread.low, seconds(2.5));
  EXPECT_EQ(result.simulation.estimate.step_time, seconds(3.0));
  EXPECT_EQ(result.spread.median, seconds(3.0));
  EXPECT_EQ(result.spread.high, seconds(3.6));
  EXPECT_EQ(result.high, seconds(4.0));
  EXPECT_EQ(result.simulation.estimate.mfu, 0.4);
  EXPECT_EQ(result.waterfall.losses[static_cast<std::size_t>(StepLoss::kInput)], Seconds());
  EXPECT_TRUE(result.notes.empty());
  result.simulation.estimate.step_time = result.spread.median = seconds(2.0);
  wait_for_input(result, feed);
  EXPECT_EQ(result.simulation.estimate.step_time, seconds(2.5));
  EXPECT_NEAR(result.simulation.estimate.mfu, 0.32, 1e-12);
  EXPECT_EQ(result.notes.size(), 1U);
}

}  // namespace
}  // namespace trainyard::simulator
