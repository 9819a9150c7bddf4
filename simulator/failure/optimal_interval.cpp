#include "simulator/failure/optimal_interval.h"

#include <boost/math/special_functions/lambert_w.hpp>
#include <cmath>

namespace trainyard::simulator {

Seconds young_interval(Seconds blocking, Seconds mttf) {
  return from_si<Seconds>(std::sqrt(2.0 * blocking.si() * mttf.si()));
}

Seconds daly_first_interval(Seconds blocking, Seconds mttf, Seconds restart) {
  return young_interval(blocking, mttf + restart) - blocking;
}

Seconds daly_interval(Seconds blocking, Seconds mttf) {
  if (!(blocking < 2.0 * mttf)) {
    return mttf;
  }
  const double x = blocking / (2.0 * mttf);
  return young_interval(blocking, mttf) * (1.0 + std::sqrt(x) / 3.0 + x / 9.0) - blocking;
}

Seconds exact_interval(Seconds blocking, Seconds mttf) {
  const double x = blocking / mttf;
  if (!std::isfinite(mttf.si()) || x <= 0.0) {
    return blocking.si() > 0.0 ? mttf : Seconds{};
  }
  // Near the branch point -1/e the argument loses the digits of x: W0 = -1 + p - p^2/3 + 11 p^3/72, p = sqrt(2 x)
  // there.
  if (x < 1e-8) {
    const double p = std::sqrt(-2.0 * std::expm1(-x));
    return mttf * (p - p * p / 3.0 + 11.0 / 72.0 * p * p * p);
  }
  return mttf * (1.0 + boost::math::lambert_w0(-std::exp(-x - 1.0)));
}

Seconds nvidia_cycle(Seconds blocking, Seconds mttf, Seconds restart) {
  const double w = blocking.si();
  return from_si<Seconds>(w + std::sqrt(2.0 * (mttf + restart).si() * w + w * w));
}

}  // namespace trainyard::simulator
