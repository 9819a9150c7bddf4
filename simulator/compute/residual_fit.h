// A time model from scattered samples: a physical baseline, corrected by what was measured nearby.
//
//   baseline(x) = sum_j c_j x_j,  c_j >= 0     least squares on relative error, sum ((c.x_i)/t_i - 1)^2
//   time(x, p)  = baseline(x) * exp( sum_i w_i log(t_i / baseline(x_i)) / (w_far + sum_i w_i) )
//   w_i = 1 / (|p - p_i|^2 + kNear^2)^2,  w_far = 1 / kFar^4
//   (Shepard 1968, with a term that fades to the baseline, and samples within kNear octaves sharing their noise)
//
// x: counts that cost time each (products, bytes, one per call); p: the shape in octaves (log2). The result
// passes near every sample, needs no grid, and far from all samples is the baseline, whose terms scale as
// the work does.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace trainyard::simulator {

constexpr std::size_t kFitFeatures = 5;
constexpr std::size_t kFitPosition = 4;

struct FitPoint {
  std::array<double, kFitFeatures> features{};  // unused: 0
  std::array<double, kFitPosition> position{};  // unused: 0
};

struct FitSample {
  FitPoint point;
  double time = 0.0;  // seconds, > 0
};

class ResidualFit {
 public:
  ResidualFit() = default;
  explicit ResidualFit(const std::vector<FitSample>& samples);

  bool empty() const { return points_.empty(); }
  double baseline(const FitPoint& point) const;
  double time(const FitPoint& point) const;

 private:
  struct Residual {
    std::array<double, kFitPosition> position{};
    double log_ratio = 0.0;
  };
  std::array<double, kFitFeatures> coefficients_{};
  std::vector<Residual> points_;
};

}  // namespace trainyard::simulator
