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

// What a step has to do with saves.
struct Marks {
  std::vector<bool> beside;  // by step: one is written meanwhile
  std::vector<bool> behind;  // its snapshot was taken just before
};

// Step times and times between steps.
struct Means {
  Seconds step;
  Seconds between;
};

Means means_of_others(const RunRecord& record, const Marks& marks) {
  const bool all = std::find(marks.beside.begin(), marks.beside.end(), false) == marks.beside.end();
  Means sum;
  double steps = 0.0;
  double gaps = 0.0;
  for (std::size_t i = 0; i < record.steps.size(); ++i) {
    const StepRecord& step = record.steps[i];
    if (all || !marks.beside[i]) {
      sum.step += step.step_time;
      steps += 1.0;
    }
    if ((all || !marks.beside[i]) && !marks.behind[i] && step.between_time) {
      sum.between += *step.between_time;
      gaps += 1.0;
    }
  }
  return {steps > 0.0 ? sum.step / steps : Seconds(), gaps > 0.0 ? sum.between / gaps : Seconds()};
}

// The first step behind a save has its snapshot before it.
Seconds slowed_by(const RunRecord& record, const SaveRecord& save, const Range& beside, const Means& others) {
  Seconds slowed;
  const std::size_t end = std::min(std::max(beside.end, beside.begin + 1), record.steps.size());
  for (std::size_t i = beside.begin; i < end; ++i) {
    const StepRecord& step = record.steps[i];
    slowed += i < beside.end ? step.step_time - others.step : Seconds();
    if (step.between_time) {
      slowed += *step.between_time - others.between - (i == beside.begin ? save.blocking_time : Seconds());
    }
  }
  return slowed;
}

}  // namespace

StepsBesideSaves steps_beside_saves(const RunRecord& record) {
  Marks marks{std::vector<bool>(record.steps.size(), false), std::vector<bool>(record.steps.size(), false)};
  std::vector<Range> ranges;
  for (const SaveRecord& save : record.saves) {
    const Range& range = ranges.emplace_back(beside(record, save));
    for (std::size_t i = range.begin; i < range.end; ++i) {
      marks.beside[i] = true;
    }
    if (range.begin < marks.behind.size()) {
      marks.behind[range.begin] = true;
    }
  }
  const Means others = means_of_others(record, marks);
  StepsBesideSaves found;
  found.undisturbed = others.step;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    found.slowed.push_back(slowed_by(record, record.saves[i], ranges[i], others));
  }
  return found;
}

}  // namespace trainyard
