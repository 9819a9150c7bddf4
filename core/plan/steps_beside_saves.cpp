#include "core/plan/steps_beside_saves.h"

#include <algorithm>
#include <cstddef>

namespace trainyard {

namespace {

struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
};

Range beside(const RunRecord& record, const SaveRecord& save) {
  const std::vector<StepRecord>& steps = record.steps;
  const auto first =
      std::partition_point(steps.begin(), steps.end(), [&](const StepRecord& step) { return step.step < save.step; });
  Range range{static_cast<std::size_t>(first - steps.begin()), static_cast<std::size_t>(first - steps.begin())};
  if (save.synchronous()) {
    return range;
  }
  for (Seconds written; range.end < steps.size() && written < save.save_time; ++range.end) {
    written += steps[range.end].step_time;
  }
  return range;
}

Seconds mean_of_others(const RunRecord& record, const std::vector<bool>& disturbed) {
  const bool all = std::find(disturbed.begin(), disturbed.end(), false) == disturbed.end();
  Seconds sum;
  double count = 0.0;
  for (std::size_t i = 0; i < disturbed.size(); ++i) {
    if (all || !disturbed[i]) {
      sum += record.steps[i].step_time;
      count += 1.0;
    }
  }
  return count > 0.0 ? sum / count : sum;
}

}  // namespace

StepsBesideSaves steps_beside_saves(const RunRecord& record) {
  std::vector<bool> disturbed(record.steps.size(), false);
  std::vector<Range> ranges;
  for (const SaveRecord& save : record.saves) {
    const Range& range = ranges.emplace_back(beside(record, save));
    for (std::size_t i = range.begin; i < range.end; ++i) {
      disturbed[i] = true;
    }
  }
  StepsBesideSaves found;
  found.undisturbed = mean_of_others(record, disturbed);
  for (const Range& range : ranges) {
    Seconds slowed;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      slowed += record.steps[i].step_time - found.undisturbed;
    }
    found.slowed.push_back(slowed);
  }
  return found;
}

}  // namespace trainyard
