#include "simulator/failure/repair_law.h"

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <numbers>

namespace trainyard::simulator {
namespace {

double normal_below(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

}  // namespace

std::optional<Seconds> mean_repair(const RepairLaw& law) {
  if (!law.median) {
    return std::nullopt;
  }
  if (law.sigma <= 0.0) {
    return law.longest ? min(*law.median, *law.longest) : *law.median;
  }
  const double mean = law.median->si() * std::exp(0.5 * law.sigma * law.sigma);
  if (!law.longest || law.median->si() <= 0.0) {
    return from_si<Seconds>(mean);
  }
  // E[min(t, c)] = mean Phi(z - sigma) + c (1 - Phi(z)), z = ln(c / median) / sigma
  const double z = std::log(*law.longest / *law.median) / law.sigma;
  return from_si<Seconds>(mean * normal_below(z - law.sigma) + law.longest->si() * normal_below(-z));
}

std::optional<Seconds> repair_quantile(const RepairLaw& law, double uniform) {
  if (!law.median) {
    return std::nullopt;
  }
  const double clipped = std::clamp(uniform, 1e-12, 1.0 - 1e-12);
  const double z = std::numbers::sqrt2 * boost::math::erf_inv(2.0 * clipped - 1.0);
  const Seconds time = *law.median * std::exp(law.sigma * z);
  return law.longest ? min(time, *law.longest) : time;
}

}  // namespace trainyard::simulator
