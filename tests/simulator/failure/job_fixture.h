// A plain job for tests: 2,048 nodes, one exponential class at 3.79 per 1000 node-days, the defaults of
// reference/failures.md, section 2; saves every 15 minutes that block for 5 s.
#pragma once

#include <cmath>

#include "simulator/failure/reliability.h"
#include "simulator/failure/series_system.h"

namespace trainyard::simulator {

constexpr double kTestDay = 86400.0;

inline Seconds test_seconds(double value) { return from_si<Seconds>(value); }
inline Ranged<Seconds> exact_seconds(double value) { return exactly(test_seconds(value)); }

inline JobModel plain_job() {
  JobModel job;
  job.nodes = 2048;
  job.step_time = test_seconds(6);
  job.tokens_per_step = 6.0;  // a token a second of work
  Hazard hazard;
  hazard.name = "anything";
  hazard.rate = exactly(rate_of_nodes(3.79, 2048));
  hazard.silent_share = exactly(0.135);
  hazard.detection = exact_seconds(30);
  hazard.silent_detection = exact_seconds(600);
  job.hazards = {hazard};
  job.restart.process_start = exact_seconds(420);
  job.checkpoints.storage = {test_seconds(900), exact_seconds(5), exact_seconds(0)};
  return job;
}

// The same, where a quarter of the failures takes a node out, which is back after `repair`.
inline JobModel job_losing_nodes(Seconds repair, std::int64_t spares) {
  JobModel job = plain_job();
  job.hazards[0].nodes_down = 1;
  job.hazards[0].process_restart_share = exactly(0.75);
  job.hazards[0].repair.median = repair;
  job.spares.nodes = spares;
  return job;
}

// Work of a whole number of storage intervals, near `days`: a run ends with its last save, so that the mean wall clock
// of runs is exactly that many periods of the closed form.
inline double whole_periods(const JobModel& job, double days) {
  const double interval = job.checkpoints.storage.interval.si();
  return std::floor(days * kTestDay / interval) * interval;
}

// How many standard errors the mean wall clock of `runs` runs lies from `expected` seconds.
inline double standard_errors_off(const JobModel& job, double work, double expected, std::int64_t runs,
                                  std::uint64_t seed = 7) {
  SimulationRequest request;
  request.runs = runs;
  request.seed = seed;
  request.threads = 2;
  request.tokens = work;
  const SimulationResult result = simulate_job(job, request);
  return (result.days->mean * kTestDay - expected) / (result.days->standard_error * kTestDay);
}

}  // namespace trainyard::simulator
