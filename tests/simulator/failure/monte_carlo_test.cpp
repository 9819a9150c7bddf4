// Monte Carlo against the closed forms: within three standard errors for every policy that has one; and what a
// simulation has to keep to: the same bytes whatever the threads, limits that end.
#include <gtest/gtest.h>

#include <cmath>

#include "simulator/failure/checkpoint_efficiency.h"
#include "simulator/failure/corruption_sites.h"
#include "tests/simulator/failure/job_fixture.h"

namespace trainyard::simulator {
namespace {

constexpr std::int64_t kRuns = 400;
constexpr double kDays = 20.0;

// Mean wall clock by the closed form's goodput, against the mean of runs.
void expect_agreement(const JobModel& job, double work, double first_is_short = 0.0) {
  const double expected = work / analyse(job).goodput - first_is_short;
  EXPECT_LT(std::abs(standard_errors_off(job, work, expected, kRuns)), 3.0);
}

void expect_agreement(const JobModel& job) { expect_agreement(job, whole_periods(job, kDays)); }

// Formula 2(a): recovery can't fail. A run of n periods takes n times the expected period.
TEST(MonteCarlo, AgreesWhereRecoveryCannotFail) {
  JobModel job = plain_job();
  job.recovery_can_fail = false;
  const CheckpointCycle cycle{job.hazards[0].rate.value, 900_s, 5_s, 0_s, test_seconds(0.865 * 30 + 0.135 * 600 + 420)};
  EXPECT_NEAR(analyse(job).goodput, efficiency(cycle, false), 1e-9);
  expect_agreement(job);
}

// Formula 2(b), at a rate where it matters: a failure every 30 minutes, recovery 7 minutes.
TEST(MonteCarlo, AgreesWhereRecoveryCanFail) {
  JobModel job = plain_job();
  job.hazards[0].rate = exactly(from_si<PerSecond>(1.0 / 1800.0));
  job.hazards[0].silent_share = exactly(0.0);
  const CheckpointCycle cycle{job.hazards[0].rate.value, 900_s, 5_s, 0_s, 450_s};
  EXPECT_NEAR(analyse(job).goodput, efficiency(cycle, true), 1e-9);
  expect_agreement(job);
}

// Saves written for 300 s in the background: each failure goes back to the last one that was whole. The first period
// has no save under way at its start, so n periods take n - 1 + exp(-lam b) expected ones (checkpoint_efficiency.h).
TEST(MonteCarlo, AgreesForAsynchronousSaves) {
  JobModel job = plain_job();
  job.checkpoints.storage.write = exact_seconds(300);
  const double rate = job.hazards[0].rate.value.si();
  const double period = 900.0 / analyse(job).goodput;
  expect_agreement(job, whole_periods(job, kDays), period * -std::expm1(-rate * 300.0));
}

// Two levels: three of four failures go back to memory saves every 100 s, the others to storage saves every 900 s.
TEST(MonteCarlo, AgreesForTwoLevels) {
  JobModel job = job_losing_nodes(0_s, 0);
  job.policy.kind = RecoveryKind::kTwoLevel;
  job.checkpoints.memory = CheckpointLevel{100_s, exact_seconds(0.5), exact_seconds(0)};
  job.restart.load_storage = exact_seconds(200);
  job.restart.load_memory = exact_seconds(10);
  job.restart.schedule = exact_seconds(120);
  expect_agreement(job);
}

// The same with peers' copies: nine of ten lost nodes leave all copies.
TEST(MonteCarlo, AgreesForPeerMemory) {
  JobModel job = job_losing_nodes(0_s, 0);
  job.policy.kind = RecoveryKind::kPeerMemory;
  job.hazards[0].copies_survive = exactly(0.9);
  job.checkpoints.memory = CheckpointLevel{30_s, exact_seconds(0.1), exact_seconds(0)};
  job.restart.load_storage = exact_seconds(200);
  job.restart.schedule = exact_seconds(120);
  expect_agreement(job);
}

TEST(MonteCarlo, AgreesForInProcessRestarts) {
  JobModel job = job_losing_nodes(0_s, 0);
  job.policy.kind = RecoveryKind::kInProcess;
  job.restart.in_process = exact_seconds(15);
  job.restart.evict = exact_seconds(40);
  job.checkpoints.memory = CheckpointLevel{300_s, exact_seconds(1), exact_seconds(0)};
  expect_agreement(job);
}

TEST(MonteCarlo, AgreesForHotSpares) {
  JobModel job = job_losing_nodes(0_s, 0);
  job.policy.kind = RecoveryKind::kHotSpares;
  job.restart.schedule = exact_seconds(900);
  job.restart.spare_join = exact_seconds(20);
  expect_agreement(job);
}

// A dropped replica: everyone stalls, then 15 of 16 go on. Saves that cost nothing: the form is of running time alone.
TEST(MonteCarlo, AgreesForDroppedReplicas) {
  JobModel job = plain_job();
  job.policy.kind = RecoveryKind::kDropReplica;
  job.replicas = {16, 128, exact_seconds(180), exact_seconds(420), exact_seconds(0)};
  job.checkpoints.storage.blocking = exact_seconds(0);
  job.hazards[0].rate = exactly(from_si<PerSecond>(1.0 / 1800.0));
  expect_agreement(job);
}

// Planned stops take nu c / (1 + nu c) of the time whatever else happens; restarts with a heavy tail count by E e^(-lam
// C).
TEST(MonteCarlo, AgreesWithPlannedStopsAndHeavyTailedRestarts) {
  JobModel job = plain_job();
  job.planned = {exactly(from_si<PerSecond>(0.87 / kTestDay)), exact_seconds(900)};
  job.restart.tail_sigma = 1.0;
  expect_agreement(job);
  EXPECT_NEAR(analyse(job).shares[TimeUse::kPlanned], 0.87 * 900 / kTestDay / (1 + 0.87 * 900 / kTestDay), 1e-12);
}

// Spares that run out: Erlang's loss formula for a repair of fixed length, which it doesn't depend on. 3 spares, 1.94
// losses a day, repaired in a day. Runs start with none in repair, so over 200 days 0.3 % is left for that.
TEST(MonteCarlo, AgreesForSparesThatRunOut) {
  const JobModel job = job_losing_nodes(test_seconds(kTestDay), 3);
  SimulationRequest request;
  request.runs = 200;
  request.threads = 2;
  request.duration = test_seconds(200.0 * kTestDay);
  const SimulationResult result = simulate_job(job, request);
  const Reliability closed = analyse(job);
  EXPECT_GT(closed.shares[TimeUse::kWaiting], 0.05);
  EXPECT_NEAR(result.goodput.mean, closed.goodput, 0.003 * closed.goodput + 3.0 * result.goodput.standard_error);
}

// Shrink: while a node is missing beyond the spares, one replica of 16 is out.
TEST(MonteCarlo, AgreesForShrinkingNearly) {
  JobModel job = job_losing_nodes(test_seconds(kTestDay), 1);
  job.policy.kind = RecoveryKind::kShrink;
  job.replicas = {16, 128, exact_seconds(0), exact_seconds(0), exact_seconds(60)};
  SimulationRequest request;
  request.runs = 200;
  request.threads = 2;
  request.duration = test_seconds(200.0 * kTestDay);
  const SimulationResult result = simulate_job(job, request);
  EXPECT_NEAR(result.goodput.mean, analyse(job).goodput, 0.002);
  EXPECT_NEAR(result.shares[TimeUse::kDegraded], analyse(job).shares[TimeUse::kDegraded], 0.002);
}

// Corruptions once a day, found half an hour later: first order in the closed form.
TEST(MonteCarlo, AgreesForCorruptionsFoundLateNearly) {
  JobModel job = plain_job();
  job.corruption.compute_errors = exactly(from_si<PerSecond>(1.0 / kTestDay));
  job.corruption.sites = {{CorruptionSite::kActivations, DataType::kBf16, 0.0, 1.0, {0.2, 0.5, 0.2, 0.1}, {}}};
  job.corruption.detectors = {{DetectorKind::kGemmChecksum, exactly(0.95), exactly(0.01), exactly(PerSecond{}),
                               exact_seconds(0), exact_seconds(1800)}};
  job.policy.detectors = {DetectorKind::kGemmChecksum};
  job.checkpoints.keep = 10;
  job.checkpoints.archive_interval = test_seconds(kTestDay);
  SimulationRequest request;
  request.runs = kRuns;
  request.threads = 2;
  const SimulationResult result = simulate_job(job, request);
  const Reliability closed = analyse(job);
  EXPECT_NEAR(result.goodput.mean, closed.goodput, 0.001);
  EXPECT_NEAR(result.shares[TimeUse::kCorruption], closed.shares[TimeUse::kCorruption], 0.002);
  // 54 days, one a day while running (0.95 of the time, 0.02 of it done again), 0.7 matter, 0.95 of them found.
  EXPECT_NEAR(result.corruptions_found.mean, 54.0 * 0.945 * 0.7 * 0.95, 1.5);
  EXPECT_NEAR(result.corruptions_missed.mean, 54.0 * 0.945 * 0.7 * 0.05, 0.4);
}

// Check 1 of reference/failures.md: 419 failures in 54 days; the mean of 200 runs within 1 %, one run 379 to 459 (95
// %).
TEST(MonteCarlo, Llama3Count) {
  SimulationRequest request;
  request.runs = 200;
  request.threads = 2;
  const SimulationResult result = simulate_job(plain_job(), request);
  EXPECT_NEAR(result.failures.mean, 419.0, 4.19);
  EXPECT_GT(result.failures.p5, 379.0);
  EXPECT_LT(result.failures.p95, 459.0);
}

JobModel rich_job() {
  JobModel job = job_losing_nodes(test_seconds(20 * 3600), 12);
  job.hazards[0].law = ArrivalLaw::kFrailty;
  job.hazards[0].repair.sigma = 2.52;
  job.hazards[0].repair.longest = test_seconds(90 * kTestDay);
  job.hazards[0].refault_share = exactly(0.31);
  job.hazards[0].refault_window = test_seconds(7 * kTestDay);
  job.frailty = 0.93;
  Hazard bursts = job.hazards[0];
  bursts.name = "bursts";
  bursts.law = ArrivalLaw::kWeibull;
  bursts.weibull_shape = 0.6;
  bursts.nodes_down = 0;
  bursts.rate = {rate_of_nodes(1.0, 2048), rate_of_nodes(0.5, 2048), rate_of_nodes(2.0, 2048)};
  job.hazards.push_back(bursts);
  job.checkpoints.storage.write = exact_seconds(120);
  job.checkpoints.memory = CheckpointLevel{90_s, exact_seconds(0.2), exact_seconds(20)};
  job.policy.kind = RecoveryKind::kPeerMemory;
  job.restart.tail_sigma = 0.8;
  job.stragglers = {exactly(0.02), exactly(from_si<PerSecond>(1.0 / kTestDay)), exact_seconds(1440), exactly(0.34)};
  job.corruption.compute_errors = exactly(rate_of_fit(514, 16384));
  job.corruption.sites = training_sites({10_GB, 20_GB, 10_GB, 30_GB, 2_GB});
  job.checkpoints.unusable_share = exactly(0.02);
  return job;
}

TEST(MonteCarlo, SameSeedSameBytesWhateverTheThreads) {
  SimulationRequest request;
  request.runs = 60;
  request.vary_inputs = true;
  request.tokens = 30.0 * kTestDay;
  request.threads = 1;
  const SimulationResult one = simulate_job(rich_job(), request);
  request.threads = 5;
  const SimulationResult five = simulate_job(rich_job(), request);
  EXPECT_EQ(one.goodput.mean, five.goodput.mean);
  EXPECT_EQ(one.goodput.p5, five.goodput.p5);
  EXPECT_EQ(one.days->p90, five.days->p90);
  EXPECT_EQ(one.shares.of, five.shares.of);
  ASSERT_EQ(one.timeline.size(), five.timeline.size());
  EXPECT_EQ(one.timeline.back().work, five.timeline.back().work);
  request.seed = 2;
  EXPECT_NE(simulate_job(rich_job(), request).goodput.mean, five.goodput.mean);
}

// Whatever is on, every second goes to one use.
TEST(MonteCarlo, UsesSumToTheWallClockForEveryPolicy) {
  for (const RecoveryKind kind :
       {RecoveryKind::kRestartFromStorage, RecoveryKind::kPeerMemory, RecoveryKind::kTwoLevel, RecoveryKind::kInProcess,
        RecoveryKind::kDropReplica, RecoveryKind::kShrink, RecoveryKind::kHotSpares}) {
    JobModel job = rich_job();
    job.policy.kind = kind;
    job.replicas = {16, 128, exact_seconds(60), exact_seconds(300), exact_seconds(60)};
    job.planned = {exactly(from_si<PerSecond>(1.0 / kTestDay)), exact_seconds(600)};
    SimulationRequest request;
    request.runs = 20;
    request.threads = 2;
    const SimulationResult result = simulate_job(job, request);
    EXPECT_NEAR(result.shares.sum(), 1.0, 1e-6) << to_string(kind);
    EXPECT_NEAR(analyse(job).shares.sum(), 1.0, 1e-9) << to_string(kind);
    EXPECT_GT(result.goodput.p50, 0.7) << to_string(kind);
    EXPECT_NEAR(result.goodput.mean, analyse(job).goodput, 0.05) << to_string(kind);
  }
}

// The timeline has no hole, and its work never grows faster than the clock.
TEST(MonteCarlo, TimelineOfOneRunIsWhole) {
  SimulationRequest request;
  request.runs = 1;
  const SimulationResult result = simulate_job(rich_job(), request);
  ASSERT_GT(result.timeline.size(), 50U);
  EXPECT_EQ(result.timeline.front().begin.si(), 0.0);
  for (std::size_t i = 1; i < result.timeline.size(); ++i) {
    EXPECT_EQ(result.timeline[i].begin, result.timeline[i - 1].end);
    EXPECT_LE(result.timeline[i].work - result.timeline[i - 1].work,
              (result.timeline[i].end - result.timeline[i].begin).si() * (1.0 + 1e-9));
  }
  EXPECT_EQ(result.timeline.back().end, request.timeline);
}

// Bad nodes: counts per run spread as a Gamma-modulated Poisson. With refaults the total stays near the published rate.
TEST(MonteCarlo, FrailtyAndRefaultsKeepThePublishedRate) {
  JobModel job = job_losing_nodes(test_seconds(20 * 3600), 5);
  job.hazards[0].law = ArrivalLaw::kFrailty;
  job.hazards[0].refault_share = exactly(0.31);
  job.hazards[0].refault_window = test_seconds(7 * kTestDay);
  job.frailty = 0.93;
  SimulationRequest request;
  request.runs = 300;
  request.threads = 2;
  const SimulationResult result = simulate_job(job, request);
  // Waiting stops the clock of failures; the first spares are new ones.
  const double clock = 54.0 * (1.0 - result.shares[TimeUse::kWaiting]);
  EXPECT_NEAR(result.failures.mean, 419.0 * clock / 54.0, 0.04 * 419.0);
}

}  // namespace
}  // namespace trainyard::simulator
