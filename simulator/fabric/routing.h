// Routes: which links a flow takes through the cluster.
//
//   GPU to GPU over NVLink where it joins them (all shortest ways at once, as the hardware stripes), else over PCIe
//   inside a host, else GPU -> [NVLink to a relay GPU] -> NIC -> shortest paths of the network -> NIC -> GPU
//
// Among n equal-cost ways on (cables of a bundle count one by one) the policy takes
//
//   hash      h(seed, both NICs [, queue pair, channel] [, switch]) scaled to 0 .. n-1, as ECMP does
//   adaptive  the least loaded so far, flow by flow in their order; each switch sees its own cables only
//   spray     all of them, 1/n of the packets each, whatever their load or speed
//   static    q mod n, then q := q / n, from q = the destination's position under its leaf (D-mod-K: Zahavi 2010),
//             as InfiniBand's subnet manager spreads destinations
//
// Where GPUDirect RDMA can't be used data bounces through host memory: the flow crosses to a CPU and back, and that
// CPU's memory twice, written and read; the set's notes say so. So do GPUs without NVLink past a CPU that doesn't pass
// peer traffic. All that bounce at a CPU share its memory. A flow that
// starts or ends in host memory crosses it once. That some of it may stay in the CPU's cache isn't seen.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/cluster/cluster.h"
#include "core/cluster/graph.h"
#include "simulator/fabric/equal_cost_paths.h"
#include "simulator/fabric/flow.h"
#include "simulator/fabric/host_ways.h"
#include "simulator/fabric/spread.h"

namespace trainyard::simulator {

enum class RoutingKind : std::uint8_t { kHash, kAdaptive, kSpray, kStatic };
constexpr int kRoutingKinds = 4;
std::string_view to_string(RoutingKind kind);  // "hash", "adaptive", "spray", "static"
// Throws Error with `where` and the four names.
RoutingKind parse_routing_kind(std::string_view text, const std::string& where);

struct RoutingPolicy {
  RoutingKind kind = RoutingKind::kHash;
  std::uint64_t seed = 0;
  bool hash_queue_pair = true;  // enhanced ECMP: queue pairs and channels are spread too; else both ends only
  bool hash_switch = true;      // each switch hashes differently; else all alike, and tiers polarise
};

// Tables of the cluster's paths; any policy and any number of flow sets can be routed with them. Cluster and graph
// must outlive the routes and keep their links. Not for two threads at once.
class Routes {
 public:
  Routes(const Cluster& cluster, const ClusterGraph& graph, Network network = Network::kBackend);
  Routes(const Routes&) = delete;
  Routes& operator=(const Routes&) = delete;

  // In the flows' order. Throws Error naming both ends where there is no way, or a flow's ends are the same.
  FlowSet route(std::span<const Flow> flows, const RoutingPolicy& policy);

  // NICs of a device's host on this network, nearest first. Among equally near ones the host's GPUs take turns.
  // A device that is cabled to the network itself is its own only NIC. Empty where there is none. Kept.
  const std::vector<VertexId>& nics(VertexId device);

  std::optional<VertexId> nearest_nic(VertexId device);  // the first of nics(); kept
  std::optional<VertexId> nearest_cpu(VertexId device);  // of its host

  // Between a device and a NIC of its host; kept.
  HostWay host_way(VertexId device, VertexId nic, bool out) { return host_ways_.find(*this, device, nic, out); }
  HostWay way_between(VertexId from, VertexId to) { return host_ways_.between(*this, from, to); }

  EqualCostPaths& network_paths() { return network_paths_; }  // cables
  EqualCostPaths& nvlink_paths() { return nvlink_paths_; }
  EqualCostPaths& host_paths() { return host_paths_; }  // PCIe, coherent links, CPU interconnect
  Spreader& spreader() { return spreader_; }
  const Cluster& cluster() const { return cluster_; }
  // Time of a bit through the arc and the device it starts from, by arc.
  const std::vector<Seconds>& arc_latency() const { return arc_latency_; }
  Network network() const { return network_; }

 private:
  struct Hosts {  // devices by host, a component of host_paths_
    std::vector<VertexId> devices;
    std::vector<std::uint32_t> first;
    std::span<const VertexId> of(std::size_t host) const {
      return {devices.data() + first[host], devices.data() + first[host + 1]};
    }
  };
  std::vector<VertexId> find_nics(VertexId device);
  std::optional<VertexId> find_nearest_nic(VertexId device);
  template <class Wanted>
  Hosts by_host(const ClusterGraph& graph, VertexKind kind, const Wanted& wanted) const;

  const Cluster& cluster_;
  Network network_;
  EqualCostPaths network_paths_;
  EqualCostPaths nvlink_paths_;
  EqualCostPaths host_paths_;
  Hosts host_nics_;
  Hosts host_cpus_;
  std::vector<std::int32_t> gpu_position_;                        // by vertex: among the GPUs of its host
  std::vector<VertexId> nearest_nic_;                             // by vertex, as far as asked; itself where not
  std::unordered_map<std::int64_t, std::vector<VertexId>> nics_;  // by device, as far as asked
  std::vector<Seconds> arc_latency_;
  HostWays host_ways_;
  Spreader spreader_;
  std::vector<VertexId> near_;  // working memory
};

}  // namespace trainyard::simulator
