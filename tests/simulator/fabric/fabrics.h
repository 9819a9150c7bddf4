// Small fabrics for the tests, built by hand.
#pragma once

#include <string>
#include <vector>

#include "core/cluster/cluster.h"
#include "core/cluster/graph.h"
#include "simulator/fabric/fair_share.h"
#include "simulator/fabric/flow.h"
#include "simulator/fabric/routing.h"

namespace trainyard::simulator {

inline VertexId add(Cluster& cluster, VertexKind kind, const std::string& name) {
  return cluster.add_vertex({.kind = kind, .name = name});
}

inline LinkId cable(Cluster& cluster, VertexId from, VertexId to, BytesPerSecond bandwidth, int width = 1) {
  return cluster.add_link({.from = from,
                           .to = to,
                           .kind = LinkKind::kCable,
                           .network = Network::kBackend,
                           .width = width,
                           .bandwidth = bandwidth,
                           .reverse_bandwidth = bandwidth,
                           .latency = 1_us});
}

inline LinkId inside(Cluster& cluster, VertexId from, VertexId to, LinkKind kind, BytesPerSecond bandwidth) {
  return cluster.add_link(
      {.from = from, .to = to, .kind = kind, .bandwidth = bandwidth, .reverse_bandwidth = bandwidth});
}

// A chain of switches: link i joins switch i and i + 1. Flows are put on its links by hand.
inline Cluster chain(const std::vector<BytesPerSecond>& bandwidths) {
  Cluster cluster;
  VertexId last = add(cluster, VertexKind::kLeaf, "switch0");
  for (std::size_t i = 0; i < bandwidths.size(); ++i) {
    const VertexId next = add(cluster, VertexKind::kLeaf, "switch" + std::to_string(i + 1));
    cable(cluster, last, next, bandwidths[i]);
    last = next;
  }
  return cluster;
}

inline void add_on_links(FlowSet& set, const Flow& flow, const std::vector<int>& links) {
  std::vector<ArcUse> uses;
  for (const int link : links) {
    uses.push_back({.arc = forward_arc(LinkId(link))});
  }
  const LegUse path{set.add_leg(uses, Seconds())};
  set.add(flow, {&path, 1});
}

// Nodes of `gpus` GPUs, each on a PCIe switch with its NIC, all on one NVSwitch; NIC g on leaf g (rails).
struct RailFabric {
  Cluster cluster;
  std::vector<VertexId> gpus;  // node by node
  std::vector<VertexId> nics;
  std::vector<VertexId> leaves;
  std::vector<VertexId> spines;
};
inline RailFabric rails(int nodes, int gpus, int spines) {
  RailFabric made;
  Cluster& cluster = made.cluster;
  for (int s = 0; s < spines; ++s) {
    made.spines.push_back(add(cluster, VertexKind::kSpine, "spine" + std::to_string(s)));
  }
  for (int g = 0; g < gpus; ++g) {
    made.leaves.push_back(add(cluster, VertexKind::kLeaf, "leaf" + std::to_string(g)));
    for (const VertexId spine : made.spines) {
      cable(cluster, made.leaves.back(), spine, 50_GBps);
    }
  }
  for (int n = 0; n < nodes; ++n) {
    const std::string node = "node" + std::to_string(n);
    const VertexId nvswitch = add(cluster, VertexKind::kNvswitch, node + "/nvswitch");
    const VertexId cpu = add(cluster, VertexKind::kCpu, node + "/cpu");
    for (int g = 0; g < gpus; ++g) {
      const std::string number = std::to_string(g);
      const VertexId gpu = add(cluster, VertexKind::kGpu, node + "/gpu" + number);
      const VertexId pcie = add(cluster, VertexKind::kPcieSwitch, node + "/pcie" + number);
      const VertexId nic = add(cluster, VertexKind::kNic, node + "/nic" + number);
      inside(cluster, gpu, nvswitch, LinkKind::kNvlink, 450_GBps);
      inside(cluster, gpu, pcie, LinkKind::kPcie, 60_GBps);
      inside(cluster, nic, pcie, LinkKind::kPcie, 60_GBps);
      inside(cluster, pcie, cpu, LinkKind::kPcie, 60_GBps);
      cable(cluster, nic, made.leaves[static_cast<std::size_t>(g)], 50_GBps);
      made.gpus.push_back(gpu);
      made.nics.push_back(nic);
    }
  }
  return made;
}

// Hosts of one NIC, `per_leaf` on a leaf; every leaf on every spine by one cable.
struct LeafSpine {
  Cluster cluster;
  std::vector<VertexId> hosts;
  std::vector<VertexId> leaves;
  std::vector<VertexId> spines;
};
inline LeafSpine leaf_spine(int per_leaf, int leaves, int spines, BytesPerSecond bandwidth = 50_GBps) {
  LeafSpine made;
  for (int s = 0; s < spines; ++s) {
    made.spines.push_back(add(made.cluster, VertexKind::kSpine, "spine" + std::to_string(s)));
  }
  for (int l = 0; l < leaves; ++l) {
    made.leaves.push_back(add(made.cluster, VertexKind::kLeaf, "leaf" + std::to_string(l)));
    for (const VertexId spine : made.spines) {
      cable(made.cluster, made.leaves.back(), spine, bandwidth);
    }
    for (int h = 0; h < per_leaf; ++h) {
      made.hosts.push_back(add(made.cluster, VertexKind::kNic, "host" + std::to_string(made.hosts.size())));
      cable(made.cluster, made.hosts.back(), made.leaves.back(), bandwidth);
    }
  }
  return made;
}

inline FlowSet routed(const Cluster& cluster, const std::vector<Flow>& flows, const RoutingPolicy& policy) {
  const ClusterGraph graph(cluster);
  return Routes(cluster, graph).route(flows, policy);
}

}  // namespace trainyard::simulator
