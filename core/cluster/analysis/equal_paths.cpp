#include "core/cluster/analysis/equal_paths.h"

#include <map>
#include <tuple>

#include "core/cluster/distance.h"

namespace trainyard {

namespace {

std::vector<EqualPaths> paths_from(const Cluster& cluster, const ClusterGraph& graph, VertexId from, Network network) {
  std::vector<EqualPaths> reached(cluster.vertices().size());
  reached[from.at()].paths = 1.0;
  std::vector<VertexId> level = {from};
  for (std::int32_t depth = 1; !level.empty(); ++depth) {
    std::vector<VertexId> next;
    for (const VertexId at : level) {
      // Data goes through switches; another endpoint ends the path.
      if (at != from && !is_fabric_switch(cluster.vertex(at).kind)) {
        continue;
      }
      for (const Hop& hop : graph.out(at)) {
        const Link& link = cluster.link(link_of(hop.arc));
        EqualPaths& there = reached[hop.to.at()];
        if (link.kind != LinkKind::kCable || link.network != network || hop.to == from ||
            (there.cables != 0 && there.cables != depth)) {
          continue;
        }
        if (there.cables == 0) {
          there.cables = depth;
          next.push_back(hop.to);
        }
        there.paths += reached[at.at()].paths * link.width;
      }
    }
    level = std::move(next);
  }
  return reached;
}

std::optional<VertexId> nearest_nic(const Cluster& cluster, const ClusterGraph& graph, VertexId gpu) {
  const std::vector<NicPath> nics = nics_of(cluster, graph, gpu, Network::kBackend);
  return nics.empty() ? std::nullopt : std::optional<VertexId>(nics.front().nic);
}

}  // namespace

EqualPaths equal_paths(const Cluster& cluster, const ClusterGraph& graph, VertexId from, VertexId to, Network network) {
  return paths_from(cluster, graph, from, network)[to.at()];
}

std::vector<PathGroup> path_groups(const Cluster& cluster, const ClusterGraph& graph, Rank from) {
  const std::vector<VertexId> gpus = cluster.gpus();
  const VertexId source = gpus[from.at()];
  const std::optional<VertexId> nic = nearest_nic(cluster, graph, source);
  if (!nic) {
    return {};
  }
  const std::vector<EqualPaths> reached = paths_from(cluster, graph, *nic, Network::kBackend);
  std::map<std::tuple<bool, std::int32_t, double>, PathGroup> groups;
  for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
    if (cluster.vertex(gpus[rank]).node == cluster.vertex(source).node) {
      continue;
    }
    const std::optional<VertexId> other = nearest_nic(cluster, graph, gpus[rank]);
    const EqualPaths paths = other ? reached[other->at()] : EqualPaths();
    PathGroup& group = groups[{paths.cables == 0, paths.cables, paths.paths}];
    if (group.ranks++ == 0) {
      group.paths = paths;
      group.example = Rank(static_cast<std::int64_t>(rank));
    }
  }
  std::vector<PathGroup> result;
  for (const auto& [key, group] : groups) {
    result.push_back(group);
  }
  return result;
}

}  // namespace trainyard
