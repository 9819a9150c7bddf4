#include "simulator/planner/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <variant>

#include "core/error.h"
#include "core/plan/plan_size.h"
#include "core/program/step_summary.h"
#include "simulator/planner/measured_maximum.h"
#include "simulator/planner/summary_price.h"
#include "simulator/simulate_plan.h"
#include "tests/core/program/tiny_plan.h"
#include "tests/simulator/support/profiles.h"

namespace trainyard::simulator {
namespace {

PlannerRequest tiny_request(int ranks) {
  PlannerRequest request;
  request.model = testing::tiny_model();
  request.training = testing::tiny_plan(Layout{}).training;
  request.training.global_batch = 16;
  request.ranks = ranks;
  return request;
}

TEST(SearchSpace, HoldsEveryFactorisationOnceAndNoSwitchWithoutEffect) {
  const PlannerRequest request = tiny_request(4);
  const std::vector<Layout> layouts = search_space(request.model, request.training, 4, request.base, request.limits);
  std::set<std::string> seen;
  std::set<std::tuple<int, int, int>> degrees;
  for (const Layout& layout : layouts) {
    EXPECT_EQ(layout.ranks(), 4);
    EXPECT_EQ(layout.sequences_per_step(), 16);
    EXPECT_TRUE(layout.tensor > 1 || !layout.sequence_parallel);
    EXPECT_TRUE(layout.data > 1 || layout.zero_stage == 0);
    EXPECT_TRUE(seen.insert(describe(layout) + (layout.overlap_gradient_reduce ? "+" : "-")).second)
        << describe(layout);
    degrees.insert({layout.tensor, layout.pipeline, layout.data});
  }
  EXPECT_EQ(degrees.size(), 6U);  // 4 = 1*1*4, 1*2*2, 1*4*1, 2*1*2, 2*2*1, 4*1*1
}

TEST(Planner, RanksAllLayoutsAndSimulatesTheBest) {
  const DeviceProfile profile = small_machine();
  std::int64_t calls = 0;
  const PlannerResult result = plan_layouts(tiny_request(4), profile, [&](const PlannerProgress&) { ++calls; });
  ASSERT_GE(result.ranked.size(), 10U);
  EXPECT_GT(calls, 0);
  EXPECT_FALSE(result.stopped);
  const auto first_formula = std::ranges::find(result.ranked, EstimateMethod::kClosedForm, &Estimate::method);
  const auto simulated = first_formula - result.ranked.begin();
  EXPECT_GE(simulated, 3);
  // Nothing that the formula has before the best is left to it, unless as many as can be were simulated.
  if (first_formula != result.ranked.end() && simulated < kMostSimulated) {
    EXPECT_GE(first_formula->step_time, result.ranked[0].step_time);
  }
  for (std::size_t i = 0; i < result.ranked.size(); ++i) {
    EXPECT_EQ(result.ranked[i].method,
              std::cmp_less(i, simulated) ? EstimateMethod::kInstructions : EstimateMethod::kClosedForm);
    EXPECT_GT(result.ranked[i].mfu, 0.0);
    EXPECT_LT(result.ranked[i].mfu, 1.0);
  }
  EXPECT_LE(result.ranked[0].step_time, result.ranked[1].step_time);
  std::int64_t counted = static_cast<std::int64_t>(result.ranked.size());
  for (const RuledOut& out : result.ruled_out) {
    counted += out.count;
  }
  EXPECT_EQ(counted, result.considered);
}

TEST(Planner, TheSameRequestGivesTheSameRanking) {
  const DeviceProfile profile = small_machine();
  const PlannerResult a = plan_layouts(tiny_request(4), profile);
  const PlannerResult b = plan_layouts(tiny_request(4), profile);
  ASSERT_EQ(a.ranked.size(), b.ranked.size());
  for (std::size_t i = 0; i < a.ranked.size(); ++i) {
    EXPECT_EQ(a.ranked[i].layout, b.ranked[i].layout);
    EXPECT_EQ(a.ranked[i].step_time, b.ranked[i].step_time);
  }
}

TEST(Planner, TooLittleMemoryRulesOutWithTheAmounts) {
  DeviceProfile profile = small_machine();
  std::get<MeasuredProfile>(profile.data).memory = ByteCount(4 * (41 << 20));
  const PlannerResult result = plan_layouts(tiny_request(4), profile);
  ASSERT_FALSE(result.ruled_out.empty());
  const RuledOut& out = result.ruled_out.front();
  EXPECT_EQ(out.reason, InfeasibleReason::kMemory);
  EXPECT_GT(out.example.needed.value(), out.example.available.value());
}

TEST(Planner, StopsWhenAsked) {
  std::stop_source stop;
  stop.request_stop();
  const PlannerResult result = plan_layouts(tiny_request(4), small_machine(), {}, stop.get_token());
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(result.considered, 0);
}

// The search ranks by the closed form: over every tiny layout of 4 ranks it must stay near the program's own
// simulation, or the ranking means little.
TEST(SummaryPrice, IsNearTheSimulationOfTheProgram) {
  const DeviceProfile profile = small_machine();
  const auto kernels = kernel_cost(profile, 4);
  const auto collectives = collective_cost(profile, 4);
  double sum = 0.0;
  int layouts = 0;
  for (const Layout& layout : testing::layouts_of(4)) {
    const Plan plan = testing::tiny_plan(layout);
    const auto outcome = simulate_plan(plan, profile, TraceDetail::kNone);
    const double simulated = std::get<Simulation>(outcome).estimate.step_time.si();
    const SummaryPrice priced = price(summarize(plan), layout, {profile, *kernels, *collectives, 4});
    const double error = priced.step_time.si() / simulated - 1.0;
    EXPECT_LT(std::abs(error), 0.20) << describe(layout) << ": closed form " << priced.step_time.si()
                                     << " s, simulated " << simulated << " s";
    sum += std::abs(error);
    ++layouts;
    const StepParts& parts = priced.parts;
    EXPECT_NEAR((parts.compute + parts.tensor_exposed + parts.pipeline + parts.gradient_exposed + parts.update).si(),
                priced.step_time.si(), 1e-12);
  }
  std::printf("closed form against simulation: mean error %.1f %% over %d layouts\n", 100 * sum / layouts, layouts);
  EXPECT_LT(sum / layouts, 0.08);
}

// Interleaving: the same, with two chunks a stage.
TEST(SummaryPrice, IsNearTheSimulationOfInterleavedPrograms) {
  const DeviceProfile profile = small_machine();
  const auto kernels = kernel_cost(profile, 4);
  const auto collectives = collective_cost(profile, 4);
  for (const std::int64_t accumulation : {4, 8, 16}) {
    Layout layout;
    layout.pipeline = 2;
    layout.data = 2;
    layout.micro_batch = 2;
    layout.accumulation = accumulation;
    layout.schedule = ScheduleKind::kInterleaved;
    layout.chunks_per_stage = 2;
    const Plan plan = testing::tiny_plan(layout);
    const auto outcome = simulate_plan(plan, profile, TraceDetail::kNone);
    const double simulated = std::get<Simulation>(outcome).estimate.step_time.si();
    const SummaryPrice priced = price(summarize(plan), layout, {profile, *kernels, *collectives, 4});
    EXPECT_NEAR(priced.step_time.si() / simulated, 1.0, 0.15) << describe(layout);
  }
}

TEST(SimulatePlan, ASlowerNetworkNeverSpeedsUpAStep) {
  for (const Layout& layout : testing::layouts_of(4)) {
    double before = 0.0;
    for (const double slowdown : {1.0, 1.5, 4.0}) {
      DeviceProfile profile = small_machine();
      for (CollectiveSample& sample : std::get<MeasuredProfile>(profile.data).concurrencies[0].collectives) {
        sample.time *= slowdown;
      }
      const auto outcome = simulate_plan(testing::tiny_plan(layout), profile, TraceDetail::kNone);
      const double time = std::get<Simulation>(outcome).estimate.step_time.si();
      EXPECT_GE(time, before) << describe(layout);
      before = time;
    }
  }
}

// A profile of this machine measured no copies between host and device.
TEST(SimulatePlan, AProfileWithoutCopiesToTheHostPricesNoOffload) {
  Layout layout = testing::layouts_of(4).front();
  layout.offload.optimizer = true;
  try {
    simulate_plan(testing::tiny_plan(layout), small_machine(), TraceDetail::kNone);
    FAIL() << "priced what the profile doesn't say";
  } catch (const Error& error) {
    EXPECT_EQ(error.problem(), "says nothing of copies between host and device");
    EXPECT_EQ(error.where(), "the machine's profile");
    EXPECT_NE(error.hint().find("--cluster"), std::string::npos);
  }
}

TEST(SimulatePlan, MemoryByCauseAddsUpToTheTotal) {
  for (const Layout& layout : testing::layouts_of(4)) {
    const auto outcome = simulate_plan(testing::tiny_plan(layout), small_machine(), TraceDetail::kNone);
    for (const RoleMemory& memory : std::get<Simulation>(outcome).memory) {
      ByteCount sum;
      for (const ByteCount bytes : memory.by_cause) {
        sum += bytes;
      }
      EXPECT_EQ(sum, memory.total);
    }
  }
}

// What maximize says is what the plan's own program allocates: it fits, and the next batch doesn't under any layout.
TEST(MeasuredMaximum, TheNextBatchFitsUnderNoLayout) {
  DeviceProfile profile = small_machine();
  std::get<MeasuredProfile>(profile.data).memory = ByteCount(2 * (std::int64_t{48} << 20));
  const auto maximum = largest_batch(tiny_request(2), profile);
  ASSERT_TRUE(maximum.has_value());
  EXPECT_LE(maximum->best.memory_peak, memory_per_rank(profile, 2));
  EXPECT_GT(maximum->next, maximum->batch);
  ASSERT_TRUE(maximum->next_lacks.has_value());
  EXPECT_GT(maximum->next_lacks->example.needed.value(), memory_per_rank(profile, 2));
}

// A step of 10^9 micro-batches would fill the memory, one of 2^63 - 1 wrap round: ruled out, not tried.
TEST(Planner, RulesOutBatchesThatNoProgramHolds) {
  for (const std::int64_t batch : {std::int64_t{1'000'000'000}, std::numeric_limits<std::int64_t>::max()}) {
    PlannerRequest request = tiny_request(1);
    request.training.global_batch = batch;
    const PlannerResult result = plan_layouts(request, small_machine());
    EXPECT_TRUE(result.ranked.empty());
    ASSERT_FALSE(result.ruled_out.empty());
    EXPECT_EQ(result.ruled_out.front().reason, InfeasibleReason::kUnsupported);
  }
}

TEST(Planner, RefusesMoreRanksThanLayoutsHold) {
  PlannerRequest request = tiny_request(1);
  request.ranks = kMostRanks + 1;
  EXPECT_THROW(plan_layouts(request, small_machine()), Error);
}

}  // namespace
}  // namespace trainyard::simulator
