#include "simulator/fabric/seed_loads.h"

#include <algorithm>
#include <span>

#include "core/error.h"
#include "simulator/fabric/equal_cost_paths.h"
#include "simulator/fabric/hashed_way.h"
#include "simulator/fabric/lanes_of_use.h"

namespace trainyard::simulator {

SeedLoads::SeedLoads(Routes& routes, const Lanes& lanes, const FlowSet& flows, const RoutingPolicy& policy)
    : routes_(routes), lanes_(lanes), policy_(policy), fixed_(lanes.size(), 0.0) {
  check(policy.kind == RoutingKind::kHash, "only hashing differs by seed");
  std::size_t path = flows.paths();
  for (std::size_t i = 0; i < flows.flows().size(); ++i) {
    if (flows.path_of(i) != path) {
      path = flows.path_of(i);
      add_hashed(flows, path, i);
    }
  }
}

bool SeedLoads::crosses_network(const FlowSet& flows, LegId leg) const {
  const std::span<const ArcUse> uses = flows.uses(leg);
  const Link& link = routes_.cluster().link(link_of(uses.front().arc));
  return link.kind == LinkKind::kCable && link.network == routes_.network();
}

// One walk stands for the flows of a path: they take it together.
void SeedLoads::add_hashed(const FlowSet& flows, std::size_t path, std::size_t first_flow) {
  const double bytes = flows.bytes_of_path(path).si();
  for (const LegUse& leg : flows.path(path)) {
    const std::span<const ArcUse> uses = flows.uses(leg.leg);
    if (uses.empty()) {
      continue;
    }
    if (!crosses_network(flows, leg.leg)) {
      for (const ArcUse& use : uses) {
        for_each_lane(lanes_, use,
                      [&](std::size_t lane, double weight) { fixed_[lane] += bytes * leg.share * weight; });
      }
      continue;
    }
    const Cluster& cluster = routes_.cluster();
    walks_.push_back({cluster.tail(uses.front().arc), cluster.head(uses.back().arc), flows.flows()[first_flow], bytes});
  }
}

void SeedLoads::walk(const RoutingPolicy& policy, const Walk& walk) {
  EqualCostPaths& paths = routes_.network_paths();
  const std::uint64_t hash = hash_of(policy, walk.exit, walk.enter, walk.flow);
  for (VertexId at = walk.exit; at != walk.enter;) {
    const std::span<const NextHop> hops = paths.next_hops(at, walk.enter);
    check(!hops.empty(), "what one seed has routed has a way on another");
    const NextHop& hop = hops[hops.size() == 1 ? 0 : hashed_hop(policy, hash, hops.size(), at)];
    for_each_lane(lanes_, {hop.arc, hop.cable, 1.0},
                  [&](std::size_t lane, double weight) { bytes_[lane] += walk.bytes * weight; });
    at = hop.to;
  }
}

LastFlow SeedLoads::on_seed(std::uint64_t seed) {
  RoutingPolicy policy = policy_;
  policy.seed = seed;
  bytes_ = fixed_;
  for (const Walk& each : walks_) {
    walk(policy, each);
  }
  LastFlow last;
  double most = 0.0;
  for (std::size_t lane = 0; lane < bytes_.size(); ++lane) {
    const double seconds = bytes_[lane] > 0.0 ? bytes_[lane] / lanes_.capacity(lane) : 0.0;
    if (seconds > most) {
      most = seconds;
      last.bottleneck = lanes_.arc(lane);
    }
  }
  last.finish = from_si<Seconds>(most);
  return last;
}

}  // namespace trainyard::simulator
