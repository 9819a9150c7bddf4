// A job stops when any of its parts does: rates add.
//
//   lam = n r / 86400 (r per node-day)     MTTF = 1 / lam     P(no stop in t) = exp(-lam t)
//   P(some device fails in a day) = 1 - (1 - p)^n, p per device and day
//   FIT: failures in 10^9 hours of one device
#pragma once

#include <cstdint>

#include "core/units/quantity.h"

namespace trainyard::simulator {

// Rate of n nodes, each `per_1000_node_days` / 1000 a day.
PerSecond rate_of_nodes(double per_1000_node_days, double nodes);
PerSecond rate_of_fit(double fit, double devices);

// Infinite for rate 0.
Seconds mean_time_to_failure(PerSecond rate);
double survival(PerSecond rate, Seconds time);
double any_of(double probability, double devices);

// Expected stored-bit upsets a second that get past error correction:
//   FIT/Mbit x Mbit x flux factor x (1 - coverage)
// For sensitivity only: field rates are dominated by hard faults.
PerSecond memory_upsets(double fit_per_mbit, double mbit, double flux_factor, double coverage);
// Flux against sea level by altitude: exp((1033 - d) / 131.3), d = 1033 exp(-h / 8,435 m) g/cm2 of air above.
// Source: JEDEC JESD89A (from memory); scale height of the standard atmosphere, 8,435 m.
double neutron_flux_factor(double altitude_m);

}  // namespace trainyard::simulator
