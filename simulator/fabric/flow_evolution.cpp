#include "simulator/fabric/flow_evolution.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace trainyard::simulator {

namespace {

constexpr double kTolerance = 1e-9;  // relative: rates and times nearer than this are the same

bool more(double a, double b) { return a > b * (1.0 + kTolerance); }

}  // namespace

FlowEvolution::FlowEvolution(const SharingProblem& problem)
    : problem_(problem), filling_(problem), columns_(problem.columns()) {}

bool FlowEvolution::full(std::uint32_t row) const { return !more(problem_.capacity[row], filling_.fixed(row)); }

void FlowEvolution::start() {
  std::vector<std::uint32_t> all(problem_.columns());
  std::iota(all.begin(), all.end(), 0U);
  filling_.fill(all);
  for (const std::uint32_t column : all) {
    if (filling_.level(column) < std::numeric_limits<double>::infinity()) {
      filling_.fix(column);
    }
    columns_[column].left = problem_.bytes[column];
    columns_[column].held_by = filling_.bottleneck(column);
    push(column);
  }
}

void FlowEvolution::push(std::uint32_t column) {
  Column& it = columns_[column];
  if (heap_.size() > 8 * columns_.size()) {
    drop_outdated();
  }
  it.finish = it.left == 0.0 ? it.since : it.since + it.left / filling_.rate(column);
  heap_.push_back({it.finish, column, ++it.version});
  std::push_heap(heap_.begin(), heap_.end(), [](const End& a, const End& b) { return a.at > b.at; });
}

void FlowEvolution::drop_outdated() {
  const auto outdated = [this](const End& end) { return columns_[end.column].version != end.version; };
  heap_.erase(std::remove_if(heap_.begin(), heap_.end(), outdated), heap_.end());
  std::make_heap(heap_.begin(), heap_.end(), [](const End& a, const End& b) { return a.at > b.at; });
}

void FlowEvolution::settle(std::uint32_t column, double now) {
  Column& it = columns_[column];
  it.left = std::max(0.0, it.left - it.old_rate * (now - it.since));
  it.since = now;
}

void FlowEvolution::note_bottleneck(std::uint32_t column, double now) {
  Column& it = columns_[column];
  if (now - it.held_since > it.longest_held) {
    it.longest_held = now - it.held_since;
    it.longest = it.held_by;
  }
  it.held_by = filling_.bottleneck(column);
  it.held_since = now;
}

void FlowEvolution::run() {
  start();
  const auto later = [](const End& a, const End& b) { return a.at > b.at; };
  std::vector<std::uint32_t> ending;
  while (!heap_.empty()) {
    const double now = heap_.front().at;
    ending.clear();
    while (!heap_.empty() && !more(heap_.front().at, now)) {
      const End next = heap_.front();
      std::pop_heap(heap_.begin(), heap_.end(), later);
      heap_.pop_back();
      if (columns_[next.column].version == next.version) {
        ending.push_back(next.column);
      }
    }
    if (ending.empty()) {
      continue;
    }
    ++event_;
    affected_.clear();
    for (const std::uint32_t column : ending) {
      columns_[column].ended = true;
    }
    for (const std::uint32_t column : ending) {
      note_bottleneck(column, now);
      end(column);
    }
    solve_affected();
    for (const std::uint32_t column : affected_) {
      if (columns_[column].held_by != filling_.bottleneck(column)) {
        note_bottleneck(column, now);
      }
      if (filling_.rate(column) != columns_[column].old_rate) {
        settle(column, now);
        push(column);
      }
    }
  }
}

// Takes the column off its rows; the flows that those of them which were full held are affected.
void FlowEvolution::end(std::uint32_t column) {
  if (filling_.level(column) == std::numeric_limits<double>::infinity()) {
    return;
  }
  for (const Load& crossed : problem_.by_column[column]) {
    if (!full(crossed.at)) {
      continue;  // it holds none; or another that ended now has been here
    }
    for (const Load& other : problem_.by_row[crossed.at]) {
      if (!columns_[other.at].ended && filling_.bottleneck(other.at) == crossed.at) {
        affect(other.at);
      }
    }
  }
  filling_.release(column);
}

void FlowEvolution::affect(std::uint32_t column) {
  Column& it = columns_[column];
  if (it.affected_in != event_) {
    it.affected_in = event_;
    it.old_rate = filling_.rate(column);
    affected_.push_back(column);
  }
}

void FlowEvolution::solve_affected() {
  std::size_t fixed = 0;  // of affected_, those that aren't open
  while (!affected_.empty()) {
    for (std::size_t i = fixed; i < affected_.size(); ++i) {
      filling_.release(affected_[i]);
    }
    filling_.fill(affected_);
    for (const std::uint32_t column : affected_) {
      filling_.fix(column);
    }
    const std::size_t before = affected_.size();
    if (!add_those_left_without_bottleneck()) {
      return;
    }
    for (std::size_t i = 0; i < before; ++i) {
      filling_.release(affected_[i]);
    }
    fixed = before;
  }
}

bool FlowEvolution::add_those_left_without_bottleneck() {
  const std::size_t before = affected_.size();
  for (const std::uint32_t row : filling_.touched()) {
    // The highest level that the last fill stopped here; and of all that cross.
    double held = -1.0;
    double highest = 0.0;
    for (const Load& load : problem_.by_row[row]) {
      const Column& it = columns_[load.at];
      if (it.ended) {
        continue;
      }
      highest = std::max(highest, filling_.level(load.at));
      if (it.affected_in == event_ && filling_.bottleneck(load.at) == row) {
        held = std::max(held, filling_.level(load.at));
      }
    }
    const bool is_full = full(row);
    for (const Load& load : problem_.by_row[row]) {
      const Column& it = columns_[load.at];
      if (it.ended || it.affected_in == event_) {
        continue;
      }
      const double level = filling_.level(load.at);
      const bool unfair = held >= 0.0 && more(level, held);
      const bool loose = filling_.bottleneck(load.at) == row && (!is_full || more(highest, level));
      if (unfair || loose) {
        affect(load.at);
      }
    }
  }
  return affected_.size() > before;
}

}  // namespace trainyard::simulator
