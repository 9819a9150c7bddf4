#include "simulator/failure/series_system.h"

#include <cmath>
#include <limits>

namespace trainyard::simulator {
namespace {
constexpr double kSecondsPerDay = 86400.0;
constexpr double kFitSeconds = 1e9 * 3600.0;
}  // namespace

PerSecond rate_of_nodes(double per_1000_node_days, double nodes) {
  return from_si<PerSecond>(per_1000_node_days / 1000.0 * nodes / kSecondsPerDay);
}

PerSecond rate_of_fit(double fit, double devices) { return from_si<PerSecond>(fit * devices / kFitSeconds); }

Seconds mean_time_to_failure(PerSecond rate) {
  return from_si<Seconds>(rate.si() > 0.0 ? 1.0 / rate.si() : std::numeric_limits<double>::infinity());
}

double survival(PerSecond rate, Seconds time) { return std::exp(-(rate * time)); }

double any_of(double probability, double devices) { return -std::expm1(devices * std::log1p(-probability)); }

PerSecond memory_upsets(double fit_per_mbit, double mbit, double flux_factor, double coverage) {
  return rate_of_fit(fit_per_mbit * flux_factor * (1.0 - coverage), mbit);
}

double neutron_flux_factor(double altitude_m) {
  constexpr double kSeaLevelDepth = 1033.0;
  const double depth = kSeaLevelDepth * std::exp(-altitude_m / 8435.0);
  return std::exp((kSeaLevelDepth - depth) / 131.3);
}

}  // namespace trainyard::simulator
