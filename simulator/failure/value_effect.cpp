#include "simulator/failure/value_effect.h"

#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <numbers>

namespace trainyard::simulator {
namespace {

constexpr int kValues = 256;

void count(ValueEffect& effect, double before, double after, double deviation, double weight) {
  const double change = std::abs(after - before);
  if (!std::isfinite(after)) {
    effect.not_finite += weight;
  } else if (std::abs(after) > 1e4) {
    effect.huge += weight;
  } else if (std::abs(after) > 50.0 * deviation) {
    effect.outlier += weight;
  } else if (change > std::abs(before)) {
    effect.large += weight;
  } else if (change >= 0.01 * std::abs(before)) {
    effect.moderate += weight;
  } else {
    effect.small += weight;
  }
}

ValueEffect scaled_sum(const ValueEffect& a, double x, const ValueEffect& b, double y) {
  return {a.not_finite * x + b.not_finite * y, a.huge * x + b.huge * y,         a.outlier * x + b.outlier * y,
          a.large * x + b.large * y,           a.moderate * x + b.moderate * y, a.small * x + b.small * y};
}

// Two flips: the worse of the two, taken as independent.
ValueEffect worse_of_two(const ValueEffect& one) {
  ValueEffect both;
  double seen = 0.0;  // P(a single flip is at least so bad)
  const auto next = [&seen](double share) {
    const double before = seen;
    seen += share;
    return (1.0 - before) * (1.0 - before) - (1.0 - seen) * (1.0 - seen);
  };
  both.not_finite = next(one.not_finite);
  both.huge = next(one.huge);
  both.outlier = next(one.outlier);
  both.large = next(one.large);
  both.moderate = next(one.moderate);
  both.small = next(one.small);
  return both;
}

}  // namespace

ValueEffect flip_effect_of_bit(const FloatFormat& format, double deviation, int bit) {
  ValueEffect effect;
  for (int i = 0; i < kValues; ++i) {
    const double quantile = (i + 0.5) / kValues;
    const double value = deviation * std::numbers::sqrt2 * boost::math::erf_inv(2.0 * quantile - 1.0);
    const std::uint64_t bits = encode(format, value);
    count(effect, decode(format, bits), decode(format, bits ^ std::uint64_t{1} << bit), deviation, 1.0 / kValues);
  }
  return effect;
}

ValueEffect flip_effect(const FloatFormat& format, double deviation) {
  ValueEffect effect;
  for (int bit = 0; bit < format.bits(); ++bit) {
    effect = scaled_sum(effect, 1.0, flip_effect_of_bit(format, deviation, bit), 1.0 / format.bits());
  }
  return effect;
}

ValueEffect compute_error_effect(const FloatFormat& format, double deviation, const ComputeErrorValues& values) {
  const ValueEffect one = flip_effect(format, deviation);
  const ValueEffect flipped = scaled_sum(one, values.single_bit, worse_of_two(one), 1.0 - values.single_bit);
  ValueEffect effect = scaled_sum(flipped, values.flipped, {}, 0.0);
  effect.moderate += values.zeroed;  // the change is |x| itself
  // The shares of NaN and Inf are measured ones: flips that the enumeration calls so are among them.
  effect.outlier += effect.not_finite;
  effect.not_finite = values.not_finite;
  return effect;
}

Consequence consequence(const ValueEffect& effect, double values, double lasting) {
  const double visible = effect.huge + effect.outlier;
  const double silent = effect.large + (values > 1.0 ? effect.moderate : 0.0);
  const double no_nan = std::pow(1.0 - effect.not_finite, values);
  const double no_visible = std::pow(1.0 - effect.not_finite - visible, values);
  const double none = std::pow(std::max(0.0, 1.0 - effect.not_finite - visible - silent), values);
  Consequence result;
  result.not_finite = 1.0 - no_nan;
  result.visible = (no_nan - no_visible) * lasting;
  result.silent = (no_visible - none) * lasting;
  result.masked = 1.0 - result.not_finite - result.visible - result.silent;
  return result;
}

}  // namespace trainyard::simulator
