#include "simulator/compute/residual_fit.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace trainyard::simulator {
namespace {

using Features = std::array<double, kFitFeatures>;

constexpr double kFar = 3.0;    // octaves: where the correction has faded by half
constexpr double kNear = 0.25;  // octaves: samples nearer than this to each other share their noise
constexpr int kSweeps = 4000;   // coordinate descent on five unknowns; converges in hundreds

double squared_distance(const std::array<double, kFitPosition>& a, const std::array<double, kFitPosition>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < kFitPosition; ++i) {
    sum += (a[i] - b[i]) * (a[i] - b[i]);
  }
  return sum;
}

// Minimises sum_i ((c . x_i)/t_i - 1)^2 over c >= 0 by coordinate descent on the normal equations.
Features fit_coefficients(const std::vector<FitSample>& samples) {
  std::array<Features, kFitFeatures> normal{};
  Features right{};
  for (const FitSample& sample : samples) {
    for (std::size_t i = 0; i < kFitFeatures; ++i) {
      const double xi = sample.point.features[i] / sample.time;
      right[i] += xi;
      for (std::size_t j = 0; j < kFitFeatures; ++j) {
        normal[i][j] += xi * (sample.point.features[j] / sample.time);
      }
    }
  }
  Features c{};
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (std::size_t i = 0; i < kFitFeatures; ++i) {
      if (normal[i][i] <= 0.0) {
        continue;
      }
      double gradient = -right[i];
      for (std::size_t j = 0; j < kFitFeatures; ++j) {
        gradient += normal[i][j] * c[j];
      }
      c[i] = std::max(0.0, c[i] - gradient / normal[i][i]);
    }
  }
  return c;
}

}  // namespace

ResidualFit::ResidualFit(const std::vector<FitSample>& samples) {
  if (samples.empty()) {
    return;
  }
  coefficients_ = fit_coefficients(samples);
  points_.reserve(samples.size());
  for (const FitSample& sample : samples) {
    check(sample.time > 0.0, "a sample's time must be positive");
    points_.push_back({sample.point.position, std::log(sample.time / baseline(sample.point))});
  }
}

double ResidualFit::baseline(const FitPoint& point) const {
  double sum = 0.0;
  for (std::size_t i = 0; i < kFitFeatures; ++i) {
    sum += coefficients_[i] * point.features[i];
  }
  return std::max(sum, 1e-12);
}

double ResidualFit::time(const FitPoint& point) const {
  double weights = 1.0 / (kFar * kFar * kFar * kFar);
  double sum = 0.0;
  for (const Residual& residual : points_) {
    const double squared = squared_distance(point.position, residual.position) + kNear * kNear;
    const double weight = 1.0 / (squared * squared);
    weights += weight;
    sum += weight * residual.log_ratio;
  }
  return baseline(point) * std::exp(sum / weights);
}

}  // namespace trainyard::simulator
