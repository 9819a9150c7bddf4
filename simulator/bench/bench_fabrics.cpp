#include "simulator/bench/bench_fabrics.h"

#include <fmt/format.h>

#include <vector>

namespace trainyard::simulator {

namespace {

Link cable(VertexId from, VertexId to, int width, BytesPerSecond each, Seconds latency) {
  return {.from = from,
          .to = to,
          .kind = LinkKind::kCable,
          .network = Network::kBackend,
          .width = width,
          .bandwidth = width * each,
          .reverse_bandwidth = width * each,
          .latency = latency};
}

Link inside(VertexId from, VertexId to, LinkKind kind, BytesPerSecond bandwidth) {
  return {.from = from, .to = to, .kind = kind, .bandwidth = bandwidth, .reverse_bandwidth = bandwidth};
}

}  // namespace

Cluster fat_tree(int per_leaf, int leaves, int spines, BytesPerSecond bandwidth, Seconds latency) {
  Cluster cluster;
  std::vector<VertexId> spine;
  for (int s = 0; s < spines; ++s) {
    spine.push_back(cluster.add_vertex({.kind = VertexKind::kSpine, .name = fmt::format("spine{}", s)}));
  }
  for (int l = 0; l < leaves; ++l) {
    const VertexId leaf = cluster.add_vertex({.kind = VertexKind::kLeaf, .name = fmt::format("leaf{}", l)});
    for (const VertexId s : spine) {
      cluster.add_link(cable(leaf, s, 1, bandwidth, latency));
    }
    for (int h = 0; h < per_leaf; ++h) {
      const VertexId nic =
          cluster.add_vertex({.kind = VertexKind::kNic, .name = fmt::format("host{}", l * per_leaf + h)});
      cluster.add_link(cable(nic, leaf, 1, bandwidth, latency));
    }
  }
  return cluster;
}

Cluster rail_fabric(int units, BytesPerSecond bandwidth) {
  constexpr int kNodes = 32;
  constexpr int kRails = 8;
  constexpr int kCores = 32;  // a spine
  Cluster cluster;
  const Seconds latency = 1_us;
  std::vector<VertexId> cores;
  for (int c = 0; c < kRails * kCores; ++c) {
    cores.push_back(cluster.add_vertex({.kind = VertexKind::kCore, .name = fmt::format("core{}", c)}));
  }
  for (int u = 0; u < units; ++u) {
    std::vector<VertexId> spines;
    for (int s = 0; s < kRails; ++s) {
      spines.push_back(cluster.add_vertex({.kind = VertexKind::kSpine, .name = fmt::format("su{}/spine{}", u, s)}));
      for (int c = 0; c < kCores; ++c) {
        cluster.add_link(cable(spines.back(), cores[static_cast<std::size_t>(s * kCores + c)], 1, bandwidth, latency));
      }
    }
    std::vector<VertexId> leaves;
    for (int r = 0; r < kRails; ++r) {
      leaves.push_back(
          cluster.add_vertex({.kind = VertexKind::kLeaf, .name = fmt::format("su{}/leaf{}", u, r), .rail = r}));
      for (const VertexId spine : spines) {
        cluster.add_link(cable(leaves.back(), spine, kNodes / kRails, bandwidth, latency));
      }
    }
    for (int n = 0; n < kNodes; ++n) {
      const std::string node = fmt::format("su{}/node{}", u, n);
      const NodeId id = cluster.add_node(node);
      const VertexId nvswitch =
          cluster.add_vertex({.kind = VertexKind::kNvswitch, .name = node + "/nvswitch", .node = id});
      for (int g = 0; g < kRails; ++g) {
        const auto named = [&](VertexKind kind, const char* what) {
          return cluster.add_vertex({.kind = kind, .name = fmt::format("{}/{}{}", node, what, g), .node = id});
        };
        const VertexId gpu = named(VertexKind::kGpu, "gpu");
        const VertexId pcie = named(VertexKind::kPcieSwitch, "pcie");
        const VertexId nic = named(VertexKind::kNic, "nic");
        cluster.add_link(inside(gpu, nvswitch, LinkKind::kNvlink, 450_GBps));
        cluster.add_link(inside(gpu, pcie, LinkKind::kPcie, 55_GBps));
        cluster.add_link(inside(pcie, nic, LinkKind::kPcie, 55_GBps));
        cluster.add_link(cable(nic, leaves[static_cast<std::size_t>(g)], 1, bandwidth, latency));
      }
    }
  }
  return cluster;
}

}  // namespace trainyard::simulator
