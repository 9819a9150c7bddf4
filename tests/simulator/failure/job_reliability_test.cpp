// The closed form of a whole job: the checks of reference/failures.md that need one, its parts, its intervals.
#include <gtest/gtest.h>

#include <cmath>

#include "simulator/failure/checkpoint_cycle.h"
#include "simulator/failure/checkpoint_efficiency.h"
#include "simulator/failure/interval_search.h"
#include "simulator/failure/optimal_interval.h"
#include "simulator/failure/ranged_inputs.h"
#include "tests/simulator/failure/job_fixture.h"
#include "tests/support/error_of.h"

namespace trainyard::simulator {
namespace {

// Check 2: 466 interruptions in 54 days, planned ones among them taken as failures.
TEST(JobReliability, Llama3) {
  JobModel job = plain_job();
  job.hazards[0].rate = exactly(from_si<PerSecond>(466.0 / (54.0 * kTestDay)));
  const Reliability found = analyse(job);
  EXPECT_NEAR(found.goodput, 0.90, 0.01);
  EXPECT_NEAR(found.mttf.si() / 3600.0, 2.781, 0.002);
  EXPECT_NEAR(found.tokens_per_day, found.goodput * kTestDay, 1e-6);
}

// The parts by hand, first order in lam = 1 / 11,132 s: detection 107 lam, restart 420 lam, lost tau / 2 lam.
TEST(JobReliability, WaterfallSumsToOneAndFollowsFirstOrder) {
  const Reliability found = analyse(plain_job());
  EXPECT_NEAR(found.shares.sum(), 1.0, 1e-12);
  EXPECT_EQ(found.shares[TimeUse::kUseful], found.goodput);
  const double rate = rate_of_nodes(3.79, 2048).si();
  EXPECT_NEAR(found.shares[TimeUse::kDetection], rate * 107.0, 0.0006);
  EXPECT_NEAR(found.shares[TimeUse::kRestart], rate * 420.0, 0.002);
  EXPECT_NEAR(found.shares[TimeUse::kLostWork], rate * 450.0, 0.003);
  EXPECT_NEAR(found.shares[TimeUse::kBlockingSaves], 5.0 / 905.0, 0.0006);
}

// One level is the published formula, whatever the path that leads to it; a memory level that is never used, too.
TEST(JobReliability, OneLevelIsThePublishedFormula) {
  for (const bool can_fail : {true, false}) {
    JobModel job = plain_job();
    job.recovery_can_fail = can_fail;
    job.hazards[0].silent_share = exactly(0.0);
    job.checkpoints.storage.write = exact_seconds(200);
    const CheckpointCycle cycle{job.hazards[0].rate.value, 900_s, 5_s, 200_s, 450_s};
    EXPECT_NEAR(analyse(job).goodput, efficiency(cycle, can_fail), 1e-12);
  }
}

// Two levels against a hand-made recursion: 2 segments of 100 s, no saves' cost, all failures to memory (W = 1): each
// segment alone, (e^(lam s) - 1)(1/lam + X).
TEST(JobReliability, TwoLevelsWithMemoryAloneAreSegmentsAlone) {
  const RecoveryMean recovery{1e-3, 50.0, 1.0};
  EXPECT_NEAR(expected_period({100.0, 2, 0.0, 0.0, 0.0, 0.0}, recovery), 2.0 * std::expm1(0.1) * (1000.0 + 50.0), 1e-9);
  // With W = 0 the memory saves are worth nothing: one period of 200 s.
  const RecoveryMean storage{1e-3, 50.0, 0.0};
  EXPECT_NEAR(expected_period({100.0, 2, 0.0, 0.0, 0.0, 0.0}, storage), std::expm1(0.2) * 1050.0, 1e-9);
  // A background write of 150 s (a segment and a half): e^(lam b) more.
  EXPECT_NEAR(expected_period({100.0, 2, 0.0, 0.0, 0.0, 150.0}, storage), std::exp(0.15) * std::expm1(0.2) * 1050.0,
              1e-9);
}

// An interval shorter than the background write isn't possible: the write decides.
// Segment by segment, as the header writes it: V = fails (1/lam + X + W V + (1 - W) V0) + (1 - fails) V', with V0 found
// by bisection. Saves count at once here.
double period_step_by_step(const CheckpointPeriod& period, const RecoveryMean& recovery) {
  const auto start_value = [&](double from_start) {
    double next = 0.0;
    for (std::int64_t i = period.segments; i-- > 0;) {
      const bool last = i + 1 == period.segments;
      const double fails =
          -std::expm1(-recovery.rate * (period.work + (last ? period.storage_blocking : period.memory_blocking)));
      const double cost = 1.0 / recovery.rate + recovery.time + (1.0 - recovery.to_memory) * from_start;
      next = (fails * cost + (1.0 - fails) * next) / (1.0 - fails * recovery.to_memory);
    }
    return next;
  };
  double low = 0.0;
  double high = 1e9;
  while (high - low > 1e-9 * high) {
    const double middle = 0.5 * (low + high);
    (start_value(middle) > middle ? low : high) = middle;
  }
  return low;
}

TEST(JobReliability, EqualSegmentsAtOnceAreThoseOneByOne) {
  for (const double to_memory : {0.0, 0.4, 1.0}) {
    for (const std::int64_t segments : {1, 2, 7, 1000}) {
      const CheckpointPeriod period{.work = 3.0, .segments = segments, .memory_blocking = 0.2, .storage_blocking = 0.9};
      const RecoveryMean recovery{.rate = 1.0 / 500.0, .time = 40.0, .to_memory = to_memory};
      const double expected = period_step_by_step(period, recovery);
      EXPECT_NEAR(expected_period(period, recovery) / expected, 1.0, 1e-6) << segments << " segments, " << to_memory;
    }
  }
  // A thousand million of them take no longer: with all recoveries from memory each costs what one does.
  const CheckpointPeriod many{.work = 3.0, .segments = 1'000'000'000, .memory_blocking = 0.2, .storage_blocking = 0.2};
  const CheckpointPeriod one{.work = 3.0, .segments = 1, .memory_blocking = 0.2, .storage_blocking = 0.2};
  const RecoveryMean from_memory{.rate = 1.0 / 500.0, .time = 40.0, .to_memory = 1.0};
  EXPECT_NEAR(expected_period(many, from_memory) / 1e9, expected_period(one, from_memory), 1e-6);
}

TEST(JobReliability, TheWriteIsAFloorOfTheInterval) {
  JobModel job = plain_job();
  job.checkpoints.storage = {60_s, exact_seconds(5), exact_seconds(300)};
  const Reliability found = analyse(job);
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_TRUE(contains(found.notes[0], "295 s of work"));
  job.checkpoints.storage.interval = 295_s;
  EXPECT_NEAR(analyse(job).goodput, found.goodput, 1e-12);
}

// Table of section 2: at 16,384 GPUs the best interval is 330 s; 2(a) and 2(b) have the same optimum, at any restart.
TEST(JobReliability, BestIntervalIsTheClosedForm) {
  for (const double restart : {420.0, 1200.0}) {
    JobModel job = plain_job();
    job.restart.process_start = exact_seconds(restart);
    const BestInterval best = best_interval(job);
    EXPECT_NEAR(best.storage.si(), best.closed_form.si(), 0.01 * best.closed_form.si());
    EXPECT_NEAR(best.closed_form.si(), 330.0, 5.0);
    EXPECT_LT(best.flat_from, best.storage);
    EXPECT_GT(best.flat_to, best.storage);
    EXPECT_GE(best.goodput, analyse(job).goodput);
  }
}

// A background write doesn't move the optimum, but bounds it from below.
TEST(JobReliability, BestIntervalRespectsTheWrite) {
  JobModel job = plain_job();
  job.checkpoints.storage.write = exact_seconds(600);
  EXPECT_GE(best_interval(job).storage.si() * 1.02, 595.0);
}

// Both levels together: none of a grid of pairs does better.
TEST(JobReliability, BestPairBeatsAGrid) {
  JobModel job = job_losing_nodes(0_s, 0);
  job.policy.kind = RecoveryKind::kTwoLevel;
  job.checkpoints.memory = CheckpointLevel{100_s, exact_seconds(1), exact_seconds(0)};
  job.checkpoints.storage.blocking = exact_seconds(20);
  const BestInterval best = best_interval(job);
  ASSERT_TRUE(best.memory);
  EXPECT_LT(*best.memory, best.storage);
  for (double memory = 20.0; memory < 1500.0; memory *= 1.5) {
    for (const double times : {1.0, 2.0, 4.0, 8.0, 16.0}) {
      job.checkpoints.memory->interval = test_seconds(memory);
      job.checkpoints.storage.interval = test_seconds(memory * times);
      EXPECT_LE(analyse(job).goodput, best.goodput + 2e-4) << memory << " x " << times;
    }
  }
}

// All failures leave their state in memory: the model would never save to storage. It is told to where that costs 0.1
// %: 5 s of 5,000.
TEST(JobReliability, StorageSavesAreKeptWhereTheyCostNextToNothing) {
  JobModel job = plain_job();
  job.policy.kind = RecoveryKind::kPeerMemory;
  job.checkpoints.memory = CheckpointLevel{60_s, exact_seconds(0.1), exact_seconds(0)};
  const BestInterval best = best_interval(job);
  EXPECT_NEAR(best.storage.si(), 5000.0, 300.0);
  EXPECT_GT(best.flat_to, 40.0 * best.storage);
}

TEST(JobReliability, SweepHasItsMaximumAtTheBest) {
  const std::vector<IntervalPoint> sweep = interval_sweep(plain_job(), 60_s, 3600_s, 9);
  ASSERT_EQ(sweep.size(), 9U);
  EXPECT_NEAR(sweep.back().storage.si(), 3600.0, 1e-6);
  const double best = best_interval(plain_job()).goodput;
  for (const IntervalPoint& point : sweep) {
    EXPECT_LE(point.goodput, best + 1e-9);
  }
}

// Ranges: the 5th and 95th percentile of the law are low and high, the median the value.
TEST(JobReliability, RangesAreReadAsPercentiles) {
  const RangedInput rate{"rate", RangeKind::kQuantity, 3.79, 2.3, 6.5};
  EXPECT_NEAR(ranged_value(rate, 0.0), 3.79, 1e-12);
  EXPECT_NEAR(ranged_value(rate, -1.6448536), 2.3, 1e-6);
  EXPECT_NEAR(ranged_value(rate, 1.6448536), 6.5, 1e-6);
  const RangedInput share{"share", RangeKind::kShare, 0.75, 0.4, 0.8};
  EXPECT_NEAR(ranged_value(share, 1.6448536), 0.8, 1e-6);
  EXPECT_LT(ranged_value(share, 8.0), 1.0);
  const RangedInput whole{"share", RangeKind::kShare, 0.95, 0.8, 1.0};
  EXPECT_EQ(ranged_value(whole, 9.0), 1.0);
}

// One uncertain rate: the goodput falls with it, so the range's ends are the goodputs at the rate's ends.
TEST(JobReliability, RangeOfOneInputIsItsEnds) {
  JobModel job = plain_job();
  job.hazards[0].rate = {rate_of_nodes(3.79, 2048), rate_of_nodes(2.3, 2048), rate_of_nodes(6.5, 2048)};
  const std::vector<Sensitivity> by = sensitivities(job);
  ASSERT_EQ(by.size(), 1U);
  EXPECT_EQ(by[0].input, "rate of anything");
  const GoodputRange range = goodput_range(job);
  EXPECT_NEAR(range.high, by[0].goodput_at_low, 0.005);
  EXPECT_NEAR(range.low, by[0].goodput_at_high, 0.01);
  EXPECT_NEAR(range.median, analyse(job).goodput, 0.003);
  const GoodputRange exact = goodput_range(plain_job());
  EXPECT_EQ(exact.low, exact.high);
}

TEST(JobReliability, HazardsShareWhatFailuresCost) {
  JobModel job = plain_job();
  Hazard silent = job.hazards[0];
  silent.name = "hang";
  silent.silent_share = exactly(1.0);
  job.hazards.push_back(silent);
  const Reliability found = analyse(job);
  ASSERT_EQ(found.hazards.size(), 2U);
  EXPECT_GT(found.hazards[1].time_share, found.hazards[0].time_share);
  EXPECT_NEAR(found.hazards[0].time_share + found.hazards[1].time_share,
              found.shares[TimeUse::kDetection] + found.shares[TimeUse::kRestart] + found.shares[TimeUse::kLostWork],
              1e-12);
  EXPECT_NEAR(found.hazards[0].per_day, 7.762, 0.001);
}

TEST(JobReliability, ErrorsNameTheQuantity) {
  const auto problem_of = [](const auto& change) {
    JobModel job = plain_job();
    change(job);
    return error_of([&job] { validate(job); }).problem();
  };
  EXPECT_TRUE(contains(problem_of([](JobModel& j) { j.nodes = 0; }), "0 nodes"));
  EXPECT_TRUE(contains(problem_of([](JobModel& j) { j.hazards[0].rate = exactly(from_si<PerSecond>(-1.0)); }),
                       "rate of anything is -1"));
  EXPECT_TRUE(contains(problem_of([](JobModel& j) { j.hazards[0].silent_share = exactly(1.5); }), "silent share"));
  EXPECT_TRUE(contains(problem_of([](JobModel& j) { j.restart.evict = {5_s, 6_s, 7_s}; }), "doesn't lie between"));
  EXPECT_TRUE(contains(problem_of([](JobModel& j) { j.hazards[0].nodes_down = 4096; }), "4096 of 2048"));
  EXPECT_TRUE(contains(problem_of([](JobModel& j) { j.hazards[0].law = ArrivalLaw::kFrailty; }), "no frailty"));
  EXPECT_TRUE(contains(problem_of([](JobModel& j) { j.checkpoints.storage.interval = 0_s; }), "storage saves every"));
  EXPECT_TRUE(contains(problem_of([](JobModel& j) { j.step_time = test_seconds(std::nan("")); }), "a step of"));
  SimulationRequest request;
  request.runs = 0;
  EXPECT_TRUE(contains(error_of([&] { simulate_job(plain_job(), request); }).problem(), "0 runs"));
}

}  // namespace
}  // namespace trainyard::simulator
