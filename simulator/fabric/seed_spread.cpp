#include "simulator/fabric/seed_spread.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "simulator/fabric/fair_share.h"

namespace trainyard::simulator {

double SeedSpread::percentile(double p) const {
  check(!sorted.empty() && p >= 0.0 && p <= 1.0, "a percentile of no seeds, or outside 0 to 1");
  const double position = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

SeedSpread seed_spread(Routes& routes, std::span<const Flow> flows, RoutingPolicy policy, int seeds,
                       const std::function<double(const FlowSet&)>& measure) {
  check(seeds > 0, "a spread needs a seed");
  // Adaptive routing breaks ties by the hash.
  const bool has_chance = policy.kind == RoutingKind::kHash || policy.kind == RoutingKind::kAdaptive;
  SeedSpread spread;
  for (int s = 0; s < (has_chance ? seeds : 1); ++s) {
    spread.sorted.push_back(measure(routes.route(flows, policy)));
    ++policy.seed;
  }
  std::sort(spread.sorted.begin(), spread.sorted.end());
  return spread;
}

SeedSpread finish_spread(Routes& routes, std::span<const Flow> flows, const RoutingPolicy& policy, int seeds) {
  return seed_spread(routes, flows, policy, seeds,
                     [&](const FlowSet& set) { return run_flows(routes.cluster(), set).last.si(); });
}

}  // namespace trainyard::simulator
