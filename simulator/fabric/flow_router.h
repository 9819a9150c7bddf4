// FlowRouter: routes flows one after the other into a FlowSet, keeping legs that many flows share. Used by
// Routes::route.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "simulator/fabric/lanes.h"
#include "simulator/fabric/routing.h"
#include "simulator/fabric/spread.h"

namespace trainyard::simulator {

class FlowRouter {
 public:
  FlowRouter(Routes& routes, const RoutingPolicy& policy, std::size_t flows);
  void add(const Flow& flow);
  FlowSet take();

 private:
  struct HostLeg {  // the last one between a device and a NIC
    VertexId nic;
    LegId leg = LegId(-1);
  };
  struct SprayedLeg {
    LegId leg;
    std::vector<Arrival> arrivals;
  };

  bool takes_the_path_of(const Flow& last, const Flow& flow) const;
  bool route_inside(VertexId source, const Flow& flow);
  void route_over_network(VertexId source, const Flow& flow);
  VertexId nic_of(VertexId device);
  LegId spread_leg(EqualCostPaths& paths, VertexId from, VertexId to);
  LegId inner_leg(VertexId from, VertexId to);
  LegId host_leg(VertexId device, VertexId nic, bool out);
  std::string bounce_note() const;
  void walk(VertexId exit, VertexId enter, const Flow& flow);
  std::size_t choose(std::span<const NextHop> hops, VertexId at);
  std::size_t least_loaded(std::span<const NextHop> hops, VertexId at) const;
  void spray(VertexId exit, VertexId enter);
  const SprayedLeg& sprayed_leg(VertexId from_switch, VertexId enter);

  Routes& routes_;
  const Cluster& cluster_;
  RoutingPolicy policy_;
  FlowSet set_;
  Spreader& spreader_;
  std::vector<LegUse> path_;
  std::vector<ArcUse> uses_;
  std::vector<HostLeg> out_;  // by vertex
  std::vector<HostLeg> in_;
  std::unordered_map<std::uint64_t, SprayedLeg> sprayed_;
  std::uint64_t hash_ = 0;      // of the flow on its way
  std::int64_t quotient_ = 0;   // of static routing
  double bytes_ = 0.0;          // of the flow on its way
  std::vector<double> load_;    // by lane, seconds of its capacity; adaptive only
  std::optional<Lanes> lanes_;  // adaptive only
  std::size_t bounced_ = 0;     // pairs of GPU and NIC
  std::size_t relayed_ = 0;     // pairs of GPUs
  std::vector<VertexId> bounce_cpus_;
  std::vector<Arrival> starts_;
};

}  // namespace trainyard::simulator
