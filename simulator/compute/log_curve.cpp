#include "simulator/compute/log_curve.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace trainyard::simulator {
namespace {

// Mean time of each distinct size, sizes rising.
std::vector<std::pair<double, double>> merge_sizes(std::vector<std::pair<double, double>> points) {
  std::sort(points.begin(), points.end());
  std::vector<std::pair<double, double>> merged;
  for (std::size_t i = 0; i < points.size();) {
    double sum = 0.0;
    std::size_t j = i;
    for (; j < points.size() && points[j].first == points[i].first; ++j) {
      sum += points[j].second;
    }
    merged.emplace_back(points[i].first, sum / static_cast<double>(j - i));
    i = j;
  }
  return merged;
}

}  // namespace

LogCurve::LogCurve(std::vector<std::pair<double, double>> points) : points_(merge_sizes(std::move(points))) {
  double highest = 0.0;
  for (auto& [size, time] : points_) {
    check(size > 0.0 && time > 0.0, "a curve's points must be positive");
    highest = std::max(highest, time);
    time = highest;
  }
}

double LogCurve::operator()(double size) const {
  check(!points_.empty(), "a curve needs a point");
  if (size <= points_.front().first) {
    return points_.front().second;
  }
  const auto& last = points_.back();
  if (size >= last.first) {
    return last.second * (size / last.first);
  }
  const auto right = std::upper_bound(points_.begin(), points_.end(), size,
                                      [](double value, const auto& point) { return value < point.first; });
  const auto left = right - 1;
  const double fraction = std::log(size / left->first) / std::log(right->first / left->first);
  return left->second * std::pow(right->second / left->second, fraction);
}

}  // namespace trainyard::simulator
