// How many equally short paths ECMP can choose from, between ranks of different hosts.
//
//   paths(v) = sum over neighbours u one hop nearer to the source of cables(u, v) paths(u)
//
// Parallel cables of a bundle count separately: a hash chooses among them too. Ends are each GPU's nearest back-end
// NIC. One breadth-first search, O(V + A).
#pragma once

#include <optional>
#include <vector>

#include "core/cluster/cluster.h"
#include "core/cluster/graph.h"

namespace trainyard {

struct EqualPaths {
  std::int32_t cables = 0;  // on each path; 0: no path
  double paths = 0.0;
};

// Between two NICs (or other endpoints) over cables of the network.
EqualPaths equal_paths(const Cluster& cluster, const ClusterGraph& graph, VertexId from, VertexId to,
                       Network network = Network::kBackend);

// Ranks of other hosts that are alike seen from one rank.
struct PathGroup {
  EqualPaths paths;
  std::int64_t ranks = 0;
  Rank example;  // the first of them
};

// Fewest cables first; ranks without a path last. Empty for a rank without a NIC.
std::vector<PathGroup> path_groups(const Cluster& cluster, const ClusterGraph& graph, Rank from);

}  // namespace trainyard
