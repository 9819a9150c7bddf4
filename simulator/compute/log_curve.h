// LogCurve: time against size, piecewise linear in log-log between measured points.
//
// Below the first point the first segment's power law goes on, its exponent held in [0, 1]; above the last
// the time grows in proportion to the size (bandwidth rules there). Repeated sizes keep their mean. More work
// never takes less time: neighbours that fall are replaced by their mean (pool adjacent violators, in log).
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
