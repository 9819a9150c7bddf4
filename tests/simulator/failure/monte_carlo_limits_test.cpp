// The ends of the scale: no failures, nothing but failures, one node, a hundred thousand, nodes that never come back.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "tests/simulator/failure/job_fixture.h"

namespace trainyard::simulator {
namespace {

TEST(MonteCarloLimits, NoFailuresLeaveTheSavesAlone) {
  JobModel job = plain_job();
  job.hazards.clear();
  EXPECT_DOUBLE_EQ(analyse(job).goodput, 900.0 / 905.0);
  SimulationRequest request;
  request.runs = 3;
  request.tokens = whole_periods(job, 10.0);
  const SimulationResult result = simulate_job(job, request);
  EXPECT_NEAR(result.goodput.p50, 900.0 / 905.0, 1e-12);
  EXPECT_EQ(result.failures.mean, 0.0);
  EXPECT_TRUE(std::isinf(analyse(job).mttf.si()));
}

TEST(MonteCarloLimits, NodesThatNeverComeBackEndTheJobWithAReason) {
  JobModel job = job_losing_nodes(0_s, 4);
  job.hazards[0].repair.median.reset();
  const Reliability closed = analyse(job);
  ASSERT_TRUE(closed.no_progress);
  EXPECT_NE(closed.no_progress->find("never come back"), std::string::npos);
  SimulationRequest request;
  request.runs = 50;
  request.tokens = 54.0 * kTestDay;
  const SimulationResult result = simulate_job(job, request);
  EXPECT_EQ(result.unfinished, result.runs);
  ASSERT_TRUE(result.reason);
  EXPECT_NE(result.reason->find("never come back"), std::string::npos);
  EXPECT_FALSE(result.days);
}

TEST(MonteCarloLimits, ARateAtWhichNothingFinishesSaysSoSoon) {
  JobModel job = plain_job();
  job.hazards[0].rate = exactly(from_si<PerSecond>(1.0 / 10.0));
  const Reliability closed = analyse(job);
  ASSERT_TRUE(closed.no_progress);
  EXPECT_LT(closed.goodput, 1e-6);
  SimulationRequest request;
  request.runs = 1'000'000;
  request.tokens = 54.0 * kTestDay;
  const auto begin = std::chrono::steady_clock::now();
  const SimulationResult result = simulate_job(job, request);
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 20.0);
  EXPECT_EQ(result.unfinished, result.runs);
  ASSERT_TRUE(result.reason);
}

TEST(MonteCarloLimits, OneNode) {
  JobModel job = job_losing_nodes(3600_s, 0);
  job.nodes = 1;
  job.hazards[0].rate = exactly(rate_of_nodes(3.79, 1));
  job.hazards[0].law = ArrivalLaw::kFrailty;
  job.frailty = 0.93;
  SimulationRequest request;
  request.runs = 200;
  const SimulationResult result = simulate_job(job, request);
  EXPECT_NEAR(result.failures.mean, 54.0 * 3.79e-3, 0.12);
  EXPECT_NEAR(result.goodput.p50, 900.0 / 905.0, 1e-3);
}

TEST(MonteCarloLimits, AHundredThousandNodes) {
  JobModel job = plain_job();
  job.nodes = 100'000;
  job.hazards[0].rate = exactly(rate_of_nodes(3.79, 100'000));
  job.checkpoints.storage.interval = 120_s;
  SimulationRequest request;
  request.runs = 4;
  request.duration = test_seconds(5 * kTestDay);
  const SimulationResult result = simulate_job(job, request);
  EXPECT_NEAR(result.failures.mean, 5 * 379.0, 3.0 * std::sqrt(5 * 379.0 / 4));
  EXPECT_NEAR(result.goodput.mean, analyse(job).goodput, 0.02);
}

TEST(MonteCarloLimits, StopsWhenAsked) {
  std::stop_source source;
  source.request_stop();
  SimulationRequest request;
  request.runs = 1000;
  request.stop = source.get_token();
  const SimulationResult result = simulate_job(plain_job(), request);
  EXPECT_TRUE(result.stopped);
  EXPECT_LT(result.runs, 1000);
}

}  // namespace
}  // namespace trainyard::simulator
