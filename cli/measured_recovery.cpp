#include "cli/measured_recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/error.h"
#include "core/plan/run_record.h"
#include "core/plan/steps_beside_saves.h"

namespace trainyard::cli {

namespace {

using simulator::Ranged;

constexpr double kNinety = 1.645;
constexpr double kLeastSpread = 0.03;  // of one machine, from run to run
constexpr double kOneSample = 0.25;    // of a single measurement

// Of the mean, not of one event: the model is of means.
std::optional<Ranged<Seconds>> mean_of(const std::vector<double>& samples) {
  if (samples.empty()) {
    return std::nullopt;
  }
  const auto count = static_cast<double>(samples.size());
  double sum = 0.0;
  for (const double sample : samples) {
    sum += sample;
  }
  const double mean = sum / count;
  double squares = 0.0;
  for (const double sample : samples) {
    squares += (sample - mean) * (sample - mean);
  }
  const double error = count > 1.0 ? std::sqrt(squares / (count - 1.0) / count) : kOneSample * mean / kNinety;
  const double half = std::max(kNinety * error, kLeastSpread * mean);
  return Ranged<Seconds>{from_si<Seconds>(mean), from_si<Seconds>(std::max(mean - half, 0.2 * mean)),
                         from_si<Seconds>(mean + half)};
}

// By how much the first step of a start is longer than others: cold caches, memory touched for the first time. 0 where
// the record doesn't tell which steps those are.
double warm_up(const RunRecord& record, Seconds undisturbed) {
  const bool tells = std::any_of(record.steps.begin(), record.steps.end(),
                                 [](const StepRecord& step) { return step.between_time.has_value(); });
  double sum = 0.0;
  double count = 0.0;
  for (const StepRecord& step : record.steps) {
    if (tells && !step.between_time && step.step > 0) {
      sum += (step.step_time - undisturbed).si();
      count += 1.0;
    }
  }
  return count > 0.0 ? std::max(0.0, sum / count) : 0.0;
}

}  // namespace

MeasuredRun measured_run(const std::filesystem::path& file) {
  const RunRecord record = read_run_record(file);
  if (record.steps.empty()) {
    throw Error("has no steps", file.string(), "the record of a run that got going");
  }
  // A save blocks for its snapshot, and slows the steps beside its writing.
  const StepsBesideSaves beside = steps_beside_saves(record);
  std::vector<double> blocking;
  std::vector<double> slowed;
  std::vector<double> write;
  for (std::size_t i = 0; i < record.saves.size(); ++i) {
    const SaveRecord& save = record.saves[i];
    blocking.push_back(save.snapshot_time().si());
    slowed.push_back((save.snapshot_time() + beside.slowed[i]).si());
    if (save.failure.empty()) {
      write.push_back(save.save_time.si());
    }
  }
  const double first_step = warm_up(record, beside.undisturbed);
  std::vector<double> restart;
  std::vector<double> load;
  for (const RestartRecord& begin : record.restarts) {
    load.push_back(begin.load_time.si());
    if (begin.restart_time) {
      restart.push_back(begin.restart_time->si() + first_step);
    }
  }
  std::vector<double> detect;
  for (const FailureRecord& failure : record.failures) {
    if (failure.detection_time) {
      detect.push_back(failure.detection_time->si());
    }
  }
  MeasuredRun run;
  run.step_time = beside.undisturbed;
  run.recovery.blocking = mean_of(blocking);
  if (const auto both = mean_of(slowed); both && both->value > run.recovery.blocking->value) {
    run.recovery.blocking = both;
  }
  run.recovery.write = mean_of(write);
  run.recovery.restart = mean_of(restart);
  run.recovery.load = mean_of(load);
  run.recovery.detect = mean_of(detect);
  run.notes.push_back(fmt::format("measured in {}: {} steps, {} saves, {} restarts", file.filename().string(),
                                  record.steps.size(), blocking.size(), restart.size()));
  if (restart.empty()) {
    run.notes.push_back(
        "no restart is in that record: restart times are the profile's; run it once with --inject "
        "kill@RATE");
  }
  return run;
}

}  // namespace trainyard::cli
