#include "simulator/failure/reliability_study.h"

#include <algorithm>
#include <array>

#include "simulator/failure/reliability_advice.h"

namespace trainyard::simulator {

namespace {

constexpr int kSweepPoints = 13;
constexpr Seconds kMonth = from_si<Seconds>(30.0 * 86400.0);
constexpr double kSweepReach = 16.0;  // times the interval, both ways
constexpr std::array<std::int64_t, 5> kUsualScales = {1024, 4096, 16384, 32768, 98304};

}  // namespace

std::vector<IntervalPoint> intervals_around(const JobModel& job, Seconds interval) {
  return interval_sweep(job, max(interval / kSweepReach, job.step_time), interval * kSweepReach, kSweepPoints);
}

std::vector<std::int64_t> usual_scales(const JobCase& of) {
  if (!of.accelerator) {
    return {};
  }
  std::vector<std::int64_t> ranks(kUsualScales.begin(), kUsualScales.end());
  ranks.push_back(of.plan.layout.ranks());
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

ScaleAnswer at_scale(const JobCase& of, std::int64_t ranks, const JobModel& own, Seconds mttf) {
  ScaleAnswer scale;
  scale.ranks = ranks;
  scale.mttf = mttf * (static_cast<double>(of.plan.layout.ranks()) / static_cast<double>(ranks));
  if (std::optional<ResolvedJob> resolved = of.resolve_at(ranks)) {
    scale.interval = set_best_interval(resolved->job).storage;
    const Reliability there = analyse(resolved->job);
    scale.mttf = there.mttf;
    scale.goodput = there.goodput;
  }
  scale.low = scale.mttf / own.fleet_factor.high;
  scale.high = scale.mttf / own.fleet_factor.low;
  return scale;
}

ReliabilityStudy study_reliability(const JobCase& of, const StudyRequest& request,
                                   const std::function<void(const std::string&)>& progress,
                                   const std::stop_token& stop) {
  const auto say = [&](const std::string& text) {
    if (progress) {
      progress(text);
    }
  };
  say("best interval between saves");
  ReliabilityStudy study;
  study.resolved = of.resolve(of.plan.recovery.kind);
  JobModel& job = study.resolved.job;
  study.interval_given = of.overrides.interval || of.plan.checkpoint.every_steps;
  study.best = study.interval_given ? best_interval(job) : set_best_interval(job);
  study.reliability = analyse(job);
  study.range = goodput_range(job);
  study.intervals = intervals_around(job, study.best.storage);
  for (const std::int64_t ranks : usual_scales(of)) {
    if (stop.stop_requested()) {
      return study;
    }
    say(std::to_string(ranks) + " ranks");
    study.scales.push_back(at_scale(of, ranks, job, study.reliability.mttf));
  }
  if (request.runs == 0 || stop.stop_requested()) {
    return study;
  }
  SimulationRequest runs;
  runs.runs = request.runs;
  runs.seed = request.seed;
  runs.threads = request.threads;
  runs.tokens = request.tokens;
  if (!runs.tokens) {
    runs.duration = request.duration;
  }
  runs.vary_inputs = true;
  runs.progress = [&](std::int64_t done) {
    say(std::to_string(done) + " of " + std::to_string(request.runs) + " runs");
  };
  runs.stop = stop;
  study.simulated = simulate_job(job, runs);
  if (stop.stop_requested()) {
    return study;
  }
  SimulationRequest one;
  one.runs = 1;
  one.seed = request.seed;
  one.threads = 1;
  one.duration = kMonth;
  one.timeline = kMonth;
  one.stop = stop;
  study.month = simulate_job(job, one).timeline;
  return study;
}

}  // namespace trainyard::simulator
