// SeedLoads: when the last of many equal hashed flows ends, on one hash seed after another.
//
//   T(seed) = max over lanes of (bytes that every seed puts there + bytes hashed there) / its capacity
//
// Only ways over the network depend on the seed: those inside hosts are taken from flows that one seed has routed, so
// that a further seed costs one walk a flow and no FlowSet. Latency on the way isn't in T. For flows that end by their
// busiest lane alone (busiest_lane.h), on any seed: that they do doesn't depend on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/cluster/cluster.h"
#include "core/units/quantity.h"
#include "simulator/fabric/fair_share.h"
#include "simulator/fabric/flow.h"
#include "simulator/fabric/lanes.h"
#include "simulator/fabric/routing.h"

namespace trainyard::simulator {

class SeedLoads {
 public:
  // flows: as routed under the policy, whose kind is hash. Routes and lanes must outlive it.
  SeedLoads(Routes& routes, const Lanes& lanes, const FlowSet& flows, const RoutingPolicy& policy);

  // The first of the busiest lanes' arcs as the bottleneck.
  LastFlow on_seed(std::uint64_t seed);

 private:
  struct Walk {
    VertexId exit;
    VertexId enter;
    Flow flow;  // its queue pair and channel
    double bytes = 0.0;
  };
  void add_hashed(const FlowSet& flows, std::size_t path, std::size_t first_flow);
  bool crosses_network(const FlowSet& flows, LegId leg) const;
  void walk(const RoutingPolicy& policy, const Walk& walk);

  Routes& routes_;
  const Lanes& lanes_;
  RoutingPolicy policy_;
  std::vector<double> fixed_;  // bytes by lane
  std::vector<Walk> walks_;
  std::vector<double> bytes_;  // by lane: working memory
};

}  // namespace trainyard::simulator
