// LogCurve: time against size, piecewise linear in log-log between measured points.
//
// Below the first point the time stays the first's (fixed costs rule there); above the last it grows in
// proportion to the size (bandwidth rules there). Points are made non-decreasing, so that more work never
// takes less time; repeated sizes keep their mean.
#pragma once

#include <utility>
#include <vector>

namespace trainyard::simulator {

class LogCurve {
 public:
  LogCurve() = default;
  // (size, time) pairs in any order, both > 0.
  explicit LogCurve(std::vector<std::pair<double, double>> points);

  bool empty() const { return points_.empty(); }
  double operator()(double size) const;
  double first_time() const { return points_.front().second; }

 private:
  std::vector<std::pair<double, double>> points_;  // by size
};

}  // namespace trainyard::simulator
