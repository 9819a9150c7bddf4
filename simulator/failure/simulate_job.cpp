#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <numbers>
#include <numeric>
#include <thread>

#include "core/error.h"
#include "simulator/failure/job_run.h"
#include "simulator/failure/ranged_inputs.h"
#include "simulator/failure/reliability.h"

namespace trainyard::simulator {
namespace {

constexpr double kSecondsPerDay = 86400.0;
constexpr double kDefaultDays = 54.0;
constexpr std::int64_t kFailureLimit = 1'000'000;   // of a run
constexpr std::int64_t kHopelessFailures = 20'000;  // the same where the closed form sees no progress
constexpr double kLongestOverIdeal = 200.0;         // wall clock over work at which a run to a target gives up
constexpr std::uint64_t kInputStreams = std::uint64_t{1} << 62;  // beside those of the runs

constexpr const char* kTooLong =
    "failures leave too little progress: not finished after 200 times the undisturbed time";

class Runs {
 public:
  Runs(const JobModel& job, const SimulationRequest& request)
      : job_(job), request_(request), shared_(job), inputs_(ranged_inputs(job)) {
    if (request.tokens) {
      limits_.target = *request.tokens / job.tokens_per_step * job.step_time.si();
    }
    const double given = request.duration.value_or(from_si<Seconds>(kDefaultDays * kSecondsPerDay)).si();
    limits_.duration = request.tokens ? kLongestOverIdeal * limits_.target : given;
    limits_.failures = analyse(job).no_progress ? kHopelessFailures : kFailureLimit;
    outcomes_.resize(static_cast<std::size_t>(request.runs));
  }

  // Run by run, until all are done, it is asked to stop, or the first ones show that nothing finishes.
  void work(const std::stop_token& stop) {
    for (;;) {
      const std::int64_t run = next_.fetch_add(1);
      if (run >= request_.runs || stop.stop_requested() || request_.stop.stop_requested() || hopeless_) {
        return;
      }
      const RunOutcome& outcome = outcomes_[static_cast<std::size_t>(run)] = one(run);
      ++done_;
      if (run < kFirst && !(outcome.finished && outcome.work > 0.0) && ++failed_first_ == kFirst) {
        hopeless_ = true;
      }
    }
  }

  std::int64_t done() const { return done_; }
  // Where none of the first runs finishes it answers by these, whatever else was under way.
  std::vector<RunOutcome> outcomes() {
    if (hopeless_) {
      outcomes_.resize(kFirst);
    }
    return std::move(outcomes_);
  }
  std::vector<TimelineSlice>& timeline() { return timeline_; }

 private:
  static constexpr std::int64_t kFirst = 20;

  RunOutcome one(std::int64_t run) {
    const auto stream = static_cast<std::uint64_t>(run);
    std::vector<TimelineSlice>* timeline = run == 0 ? &timeline_ : nullptr;
    if (!request_.vary_inputs) {
      return JobRun(shared_, RunRandom(request_.seed, stream), timeline, request_.timeline.si()).run(limits_);
    }
    RunRandom draw(request_.seed, kInputStreams + stream);
    std::vector<double> values;
    for (const RangedInput& input : inputs_) {
      values.push_back(input.exact() ? input.value : ranged_value(input, draw.normal()));
    }
    JobModel drawn = job_;
    set_inputs(drawn, values);
    const RunSetup setup(drawn);
    return JobRun(setup, RunRandom(request_.seed, stream), timeline, request_.timeline.si()).run(limits_);
  }

  const JobModel& job_;
  const SimulationRequest& request_;
  RunSetup shared_;
  std::vector<RangedInput> inputs_;
  RunLimits limits_;
  std::vector<RunOutcome> outcomes_;
  std::vector<TimelineSlice> timeline_;
  std::atomic<std::int64_t> next_{0};
  std::atomic<std::int64_t> done_{0};
  std::atomic<std::int64_t> failed_first_{0};
  std::atomic<bool> hopeless_{false};
};

Percentiles percentiles(std::vector<double> values) {
  Percentiles result;
  if (values.empty()) {
    return result;
  }
  const auto count = static_cast<double>(values.size());
  // Summed before sorting, by run: the same bytes each time.
  result.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0.0;
  for (const double value : values) {
    squares += (value - result.mean) * (value - result.mean);
  }
  result.standard_error = values.size() > 1 ? std::sqrt(squares / (count - 1.0) / count) : 0.0;
  std::sort(values.begin(), values.end());
  const auto at = [&values](double share) {
    const double place = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const double part = place - static_cast<double>(below);
    return below + 1 < values.size() ? values[below] + part * (values[below + 1] - values[below]) : values[below];
  };
  result.p5 = at(0.05);
  result.p10 = at(0.10);
  result.p50 = at(0.50);
  result.p90 = at(0.90);
  result.p95 = at(0.95);
  return result;
}

SimulationResult summary(const std::vector<RunOutcome>& outcomes, bool to_target) {
  SimulationResult result;
  std::vector<double> goodput;
  std::vector<double> days;
  std::vector<double> failures;
  std::vector<double> losses;
  std::vector<double> found;
  std::vector<double> missed;
  std::vector<double> peak;
  for (const RunOutcome& run : outcomes) {
    if (run.wall <= 0.0) {
      continue;  // never begun
    }
    ++result.runs;
    if (!run.finished || run.work <= 0.0) {
      ++result.unfinished;
      if (!result.reason) {
        result.reason = run.gave_up ? *run.gave_up : kTooLong;
      }
    }
    goodput.push_back(run.work / run.wall);
    if (run.finished) {
      days.push_back(run.wall / kSecondsPerDay);
    }
    for (std::size_t i = 0; i < kTimeUses; ++i) {
      result.shares.of[i] += run.uses.of[i] / run.wall;
    }
    failures.push_back(static_cast<double>(run.failures));
    losses.push_back(static_cast<double>(run.node_losses));
    found.push_back(static_cast<double>(run.corruptions_found));
    missed.push_back(static_cast<double>(run.corruptions_missed));
    peak.push_back(static_cast<double>(run.nodes_down_peak));
  }
  for (double& share : result.shares.of) {
    share /= std::max(1.0, static_cast<double>(result.runs));
  }
  result.goodput = percentiles(std::move(goodput));
  if (to_target && !days.empty()) {
    result.days = percentiles(std::move(days));
  }
  result.failures = percentiles(std::move(failures));
  result.node_losses = percentiles(std::move(losses));
  result.corruptions_found = percentiles(std::move(found));
  result.corruptions_missed = percentiles(std::move(missed));
  result.nodes_down_peak = percentiles(std::move(peak));
  return result;
}

void require(const JobModel& job, const SimulationRequest& request) {
  validate(job);
  if (request.runs < 1 || request.runs > 100'000'000) {
    throw Error(fmt::format("{} runs", request.runs), "simulation of a job", "ask for 1 to 100 million");
  }
  if (request.tokens && !(*request.tokens > 0.0 && job.tokens_per_step > 0.0)) {
    throw Error(fmt::format("{} tokens at {} a step", *request.tokens, job.tokens_per_step), "simulation of a job",
                "both are to be above 0");
  }
  if (request.duration && !(request.duration->si() > 0.0)) {
    throw Error(fmt::format("a run of {} s", request.duration->si()), "simulation of a job", "give a time above 0");
  }
}

}  // namespace

SimulationResult simulate_job(const JobModel& job, const SimulationRequest& request) {
  require(job, request);
  Runs runs(job, request);
  const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const int threads = request.threads > 0 ? request.threads : cores;
  {
    std::mutex mutex;
    std::condition_variable_any changed;
    int working = threads;
    std::vector<std::jthread> workers;
    for (int i = 0; i < threads; ++i) {
      workers.emplace_back([&](const std::stop_token& stop) {
        runs.work(stop);
        const std::lock_guard lock(mutex);
        --working;
        changed.notify_one();
      });
    }
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, std::chrono::milliseconds(100), [&working] { return working == 0; })) {
      if (request.progress) {
        request.progress(std::min(runs.done(), request.runs));
      }
    }
  }
  SimulationResult result = summary(runs.outcomes(), request.tokens.has_value());
  result.stopped = request.stop.stop_requested() && result.runs < request.runs;
  result.timeline = std::move(runs.timeline());
  return result;
}

}  // namespace trainyard::simulator
