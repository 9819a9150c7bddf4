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

// Pool adjacent violators (Ayer et al. 1955) on the logarithms of the times.
void make_rising(std::vector<std::pair<double, double>>& points) {
  struct Pool {
    double sum;
    std::size_t count;
    double mean() const { return sum / static_cast<double>(count); }
  };
  std::vector<Pool> pools;
  for (const auto& [size, time] : points) {
    pools.push_back({std::log(time), 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
      const Pool last = pools.back();
      pools.pop_back();
      pools.back().sum += last.sum;
      pools.back().count += last.count;
    }
  }
  std::size_t i = 0;
  for (const Pool& pool : pools) {
    for (std::size_t k = 0; k < pool.count; ++k) {
      if (pool.count > 1) {
        points[i].second = std::exp(pool.mean());
      }
      ++i;
    }
  }
}

// Exponent of the power law between two points.
double slope(const std::pair<double, double>& a, const std::pair<double, double>& b) {
  return std::log(b.second / a.second) / std::log(b.first / a.first);
}

}  // namespace

LogCurve::LogCurve(std::vector<std::pair<double, double>> points) : points_(merge_sizes(std::move(points))) {
  for (const auto& [size, time] : points_) {
    check(size > 0.0 && time > 0.0, "a curve's points must be positive");
  }
  make_rising(points_);
}

double LogCurve::operator()(double size) const {
  check(!points_.empty(), "a curve needs a point");
  const auto& first = points_.front();
  if (size <= first.first) {
    const double exponent = points_.size() > 1 ? std::clamp(slope(first, points_[1]), 0.0, 1.0) : 0.0;
    return first.second * std::pow(size / first.first, exponent);
  }
  const auto& last = points_.back();
  if (size >= last.first) {
    return last.second * (size / last.first);
  }
  const auto right = std::upper_bound(points_.begin(), points_.end(), size,
                                      [](double value, const auto& point) { return value < point.first; });
  const auto left = right - 1;
  return left->second * std::pow(size / left->first, slope(*left, *right));
}

}  // namespace trainyard::simulator
