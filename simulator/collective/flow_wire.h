// Wire time of a collective on a cluster: its flows, routed and shared max-min fairly, until the last ends.
//
//   wire = max(overhead_inside * inside, overhead_across * across)       seconds per byte of the size
//
// inside: flows over NVLink, NVSwitch, PCIe; across: flows over NICs and switches, by hash seed. The two kinds of
// link overlap in a pipelined algorithm. Wire time without latencies is proportional to the size, so one solution
// serves all sizes.
//
// Overheads set the graph's raw link rates against what was measured: encoding, headers, copy engines and flags are in
// the measured curves, not in the graph. They are the ratio of a curve's wire time to the time that the usual node or
// NIC would need alone:
//
//   overhead_inside = (F / B_inside) / median over nodes of the busiest link's time
//   overhead_across = (F / B_across) / median over NICs of its load / its rate
//
// so that an unloaded symmetric cluster gets the curve's bandwidth exactly, and everything else comes from the graph.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/cluster/cluster.h"
#include "core/cluster/graph.h"
#include "simulator/collective/algorithms/collective_flows.h"
#include "simulator/collective/algorithms/group_layout.h"
#include "simulator/fabric/lanes.h"
#include "simulator/fabric/queue.h"
#include "simulator/fabric/routing.h"

namespace trainyard::simulator {

// Part of a wire time: the flows of an algorithm on one hash seed, the `seed`th of `seeds`; 0: those inside nodes.
struct WireStep {
  FlowAlgorithm algorithm = FlowAlgorithm::kRing;
  int seed = 0;
  int seeds = 1;
};

// A cluster with the tables that routing it needs; the cluster must outlive it and keep its links.
class CollectiveFabric {
 public:
  explicit CollectiveFabric(const Cluster& cluster, Network network = Network::kBackend)
      : cluster_(cluster), graph_(cluster), routes_(cluster, graph_, network), domains_(cluster), lanes_(cluster) {}

  const Cluster& cluster() const { return cluster_; }
  const ClusterGraph& graph() const { return graph_; }
  Routes& routes() { return routes_; }
  const Domains& domains() const { return domains_; }
  const Lanes& lanes() const { return lanes_; }
  GroupLayout layout(std::span<const VertexId> ranks) { return lay_out(routes_, graph_, domains_, ranks); }

  // Told before each of the solutions that a wire time takes; on the largest jobs each takes seconds.
  void on_step(std::function<void(const WireStep&)> told) { told_ = std::move(told); }
  void begin(const WireStep& step) const {
    if (told_) {
      told_(step);
    }
  }

 private:
  const Cluster& cluster_;
  ClusterGraph graph_;
  Routes routes_;
  Domains domains_;
  Lanes lanes_;
  std::function<void(const WireStep&)> told_;
};

// A collective's flows on their ways; the fixed ones last.
FlowSet route_flows(CollectiveFabric& fabric, const std::vector<Flow>& flows, const std::vector<FixedFlow>& fixed,
                    const RoutingPolicy& policy);

// Half a link held back: what a set of flows takes and what holds it.
struct Drain {
  double seconds = 0.0;  // per byte of the size; 0 without flows
  std::optional<ArcId> bottleneck;
};

struct WireTime {
  Drain inside;
  std::vector<Drain> across;  // by hash seed; one where routing draws no lots, none in one node
  double usual_inside = 0.0;  // what the overheads are set against, seconds per byte
  double usual_across = 0.0;
  std::vector<std::string> notes;
};

struct WireQuestion {
  FlowAlgorithm algorithm = FlowAlgorithm::kRing;
  CollectiveOp op = CollectiveOp::kAllReduce;
  FlowSetup setup;
  RoutingPolicy routing;
  int seeds = 1;  // hash only: routing.seed, + 1, ...
};

// All groups at once, each with the whole size.
WireTime wire_time(CollectiveFabric& fabric, std::span<const GroupLayout> groups, const WireQuestion& question);
// The same question with more seeds: solves those that `wire` hasn't yet.
void solve_more_seeds(CollectiveFabric& fabric, std::span<const GroupLayout> groups, const WireQuestion& question,
                      WireTime& wire);

// Ports where the collective's messages of a size meet faster than they drain, on one hash seed (queue.h). A channel
// has at most 4 MiB on its way: NCCL sends into buffers that the receiver has cleared (NCCL_BUFFSIZE).
constexpr Bytes kChannelBuffer = 4_MiB;
std::vector<PortQueue> port_queues(CollectiveFabric& fabric, std::span<const GroupLayout> groups,
                                   const WireQuestion& question, Bytes size);

struct WireOverhead {
  double inside = 1.0;
  double across = 1.0;
};

// Of one seed: the longer of the two, and its bottleneck.
Drain together(const WireTime& wire, const WireOverhead& overhead, std::size_t seed);

}  // namespace trainyard::simulator
