// What a corruption makes of a value drawn from N(0, deviation), by size of the change.
//
//   not_finite   NaN or Inf
//   huge         |x'| > 1e4
//   outlier      |x'| > 50 deviations
//   large        |x' - x| > |x|
//   moderate     0.01 |x| to |x|
//   small        below 0.01 |x|
//
// One flipped bit: all bits of the format, values at equal steps of the normal distribution, each pair as likely.
// Exponent bit k multiplies or divides by 2^(2^k), mantissa bit i (0 lowest, m in all) changes by at most 2^(i-m).
// A compute error (ComputeErrorValues): zeroed, flipped or not finite, by shares from gate-level simulation.
#pragma once

#include "simulator/failure/corruption_model.h"
#include "simulator/failure/float_format.h"

namespace trainyard::simulator {

struct ValueEffect {
  double not_finite = 0.0;
  double huge = 0.0;
  double outlier = 0.0;
  double large = 0.0;
  double moderate = 0.0;
  double small = 0.0;
};

ValueEffect flip_effect(const FloatFormat& format, double deviation);
// Of one bit alone (0: lowest of the mantissa).
ValueEffect flip_effect_of_bit(const FloatFormat& format, double deviation, int bit);
ValueEffect compute_error_effect(const FloatFormat& format, double deviation, const ComputeErrorValues& values);

// Of an event that hits `values` values alike. `lasting`: share of what matters that stays in what is trained.
Consequence consequence(const ValueEffect& effect, double values, double lasting);

}  // namespace trainyard::simulator
