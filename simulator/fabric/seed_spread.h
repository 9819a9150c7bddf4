// Seed spread: what hashing may do to a set of flows. One seed is one draw; the fabric will make another.
//
//   finish times of the last flow for seeds s, s + 1, ..., sorted; percentile p at position p (n - 1), interpolated
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "simulator/fabric/routing.h"

namespace trainyard::simulator {

struct SeedSpread {
  std::vector<double> sorted;         // one a seed
  double percentile(double p) const;  // p in 0..1
  double median() const { return percentile(0.5); }
  double low() const { return percentile(0.05); }
  double high() const { return percentile(0.95); }
};

// `measure` of each seed's routed flows: a time, a bandwidth.
SeedSpread seed_spread(Routes& routes, std::span<const Flow> flows, RoutingPolicy policy, int seeds,
                       const std::function<double(const FlowSet&)>& measure);

// Seconds until the last flow has ended. Policies without chance are run once.
SeedSpread finish_spread(Routes& routes, std::span<const Flow> flows, const RoutingPolicy& policy, int seeds = 20);

}  // namespace trainyard::simulator
