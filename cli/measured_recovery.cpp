#include "cli/measured_recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/error.h"
#include "core/plan/run_record.h"

namespace trainyard::cli {

namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

MeasuredRun measured_run(const std::filesystem::path& file) {
  const RunRecord record = read_run_record(file);
  std::vector<double> steps;
  for (const StepRecord& step : record.steps) {
    steps.push_back(step.step_time.si());
  }
  if (steps.empty()) {
    throw Error("has no steps", file.string(), "the record of a run that got going");
  }
  MeasuredRun run;
  run.step_time = from_si<Seconds>(median(steps));
  run.notes.push_back(fmt::format("measured in {}: {} steps", file.filename().string(), steps.size()));
  return run;
}

}  // namespace trainyard::cli
