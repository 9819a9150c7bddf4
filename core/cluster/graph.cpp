#include "core/cluster/graph.h"

namespace trainyard {

ClusterGraph::ClusterGraph(const Cluster& cluster) : first_(cluster.vertices().size() + 1, 0) {
  kinds_.reserve(cluster.vertices().size());
  for (const Vertex& vertex : cluster.vertices()) {
    kinds_.push_back(vertex.kind);
  }
  const std::size_t arcs = 2 * cluster.links().size();
  const auto arc_at = [](std::size_t a) { return ArcId(static_cast<std::int64_t>(a)); };
  for (std::size_t a = 0; a < arcs; ++a) {
    ++first_[cluster.tail(arc_at(a)).at() + 1];
  }
  for (std::size_t v = 1; v < first_.size(); ++v) {
    first_[v] += first_[v - 1];
  }
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  hops_.resize(arcs);
  for (std::size_t a = 0; a < arcs; ++a) {
    const ArcId arc = arc_at(a);
    hops_[next[cluster.tail(arc).at()]++] = {arc, cluster.head(arc)};
  }
}

std::span<const Hop> ClusterGraph::out(VertexId vertex) const {
  const std::size_t v = vertex.at();
  return {hops_.data() + first_[v], hops_.data() + first_[v + 1]};
}

}  // namespace trainyard
