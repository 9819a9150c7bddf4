// The inputs of a job that have a published range, by name.
//
//   quantity  x = value e^(z s), s = ln(high / value) / 1.645 for z > 0, ln(value / low) / 1.645 for z < 0
//   share     the same of the odds x / (1 - x)
//   where a logarithm isn't there (0, or 1 of a share): the same lines without it, cut to what is possible
//
// z standard normal: `value` is the median, low and high are the 5th and 95th percentile.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "simulator/failure/job_model.h"

namespace trainyard::simulator {

enum class RangeKind : std::uint8_t { kQuantity, kShare };

struct RangedInput {
  std::string name;
  RangeKind kind = RangeKind::kQuantity;
  double value = 0.0;
  double low = 0.0;
  double high = 0.0;
  bool exact() const { return !(low < high); }
};

double ranged_value(const RangedInput& input, double z);

// All of them, in a fixed order; names as in "rate of faulty GPU".
std::vector<RangedInput> ranged_inputs(const JobModel& job);
// values: in that order.
void set_inputs(JobModel& job, const std::vector<double>& values);

}  // namespace trainyard::simulator
