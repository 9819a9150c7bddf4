#include "simulator/fabric/progressive_filling.h"

#include <algorithm>
#include <limits>

namespace trainyard::simulator {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

}  // namespace

ProgressiveFilling::ProgressiveFilling(const SharingProblem& problem)
    : problem_(problem),
      level_(problem.columns(), 0.0),
      bottleneck_(problem.columns(), SharingProblem::kNone),
      is_open_(problem.columns(), false),
      fixed_(problem.rows(), 0.0),
      rows_(problem.rows()) {}

void ProgressiveFilling::add_rate(std::uint32_t column, double sign) {
  const double rate = sign * this->rate(column);
  for (const Load& load : problem_.by_column[column]) {
    fixed_[load.at] += load.load * rate;
  }
}

double ProgressiveFilling::row_level(std::uint32_t row) const {
  return std::max(rows_[row].room, 0.0) / rows_[row].slope;
}

void ProgressiveFilling::open_rows(std::span<const std::uint32_t> columns) {
  touched_.clear();
  capped_.clear();
  for (const std::uint32_t column : columns) {
    is_open_[column] = true;
    level_[column] = kInfinite;  // where no row and no cap stops it
    bottleneck_[column] = SharingProblem::kNone;
    if (problem_.rate_cap[column] < kInfinite) {
      capped_.push_back(column);
    }
    for (const Load& load : problem_.by_column[column]) {
      Row& row = rows_[load.at];
      if (row.open == 0) {
        row = {problem_.capacity[load.at] - fixed_[load.at], 0.0, 0};
        touched_.push_back(load.at);
      }
      ++row.open;
      row.slope += load.load * problem_.weight[column];
    }
  }
  std::sort(capped_.begin(), capped_.end(), [this](std::uint32_t a, std::uint32_t b) {
    return problem_.rate_cap[a] / problem_.weight[a] > problem_.rate_cap[b] / problem_.weight[b];
  });
}

void ProgressiveFilling::stop(std::uint32_t column, double level, std::uint32_t row) {
  level_[column] = level;
  bottleneck_[column] = row;
  is_open_[column] = false;
  const double weight = problem_.weight[column];
  for (const Load& load : problem_.by_column[column]) {
    Row& crossed = rows_[load.at];
    --crossed.open;
    crossed.slope -= load.load * weight;
    crossed.room -= load.load * weight * level;
  }
}

void ProgressiveFilling::stop_capped(double level) {
  while (!capped_.empty()) {
    const std::uint32_t column = capped_.back();
    const double cap = problem_.rate_cap[column] / problem_.weight[column];
    if (is_open_[column] && cap > level) {
      return;
    }
    capped_.pop_back();
    if (is_open_[column]) {
      stop(column, cap, SharingProblem::kNone);
    }
  }
}

void ProgressiveFilling::fill(std::span<const std::uint32_t> columns) {
  open_rows(columns);
  const auto later = [](const Candidate& a, const Candidate& b) { return a.level > b.level; };
  heap_.clear();
  for (const std::uint32_t row : touched_) {
    heap_.push_back({row_level(row), row});
  }
  std::make_heap(heap_.begin(), heap_.end(), later);
  double level = 0.0;
  while (!heap_.empty()) {
    const Candidate lowest = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), later);
    heap_.pop_back();
    stop_capped(lowest.level);
    if (rows_[lowest.row].open == 0) {
      continue;
    }
    const double now = row_level(lowest.row);
    if (now > lowest.level * (1.0 + 1e-12)) {
      heap_.push_back({now, lowest.row});
      std::push_heap(heap_.begin(), heap_.end(), later);
      continue;
    }
    level = std::max(level, lowest.level);  // rounding must not turn the order round
    for (const Load& load : problem_.by_row[lowest.row]) {
      if (is_open_[load.at]) {
        stop(load.at, level, lowest.row);
      }
    }
  }
  stop_capped(kInfinite);
  for (const std::uint32_t column : columns) {
    is_open_[column] = false;
  }
}

}  // namespace trainyard::simulator
