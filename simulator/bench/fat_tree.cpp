#include "simulator/bench/fat_tree.h"

#include <fmt/format.h>

#include <vector>

namespace trainyard::simulator {

namespace {

Link cable(VertexId from, VertexId to, BytesPerSecond bandwidth, Seconds latency) {
  return {.from = from,
          .to = to,
          .kind = LinkKind::kCable,
          .network = Network::kBackend,
          .bandwidth = bandwidth,
          .reverse_bandwidth = bandwidth,
          .latency = latency};
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
      cluster.add_link(cable(leaf, s, bandwidth, latency));
    }
    for (int h = 0; h < per_leaf; ++h) {
      const VertexId nic =
          cluster.add_vertex({.kind = VertexKind::kNic, .name = fmt::format("host{}", l * per_leaf + h)});
      cluster.add_link(cable(nic, leaf, bandwidth, latency));
    }
  }
  return cluster;
}

}  // namespace trainyard::simulator
