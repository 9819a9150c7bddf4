// ClusterGraph: who is next to whom, as compressed rows over the cluster's arcs.
//
// Both ways of a link are there, each with its own bandwidth. Built once, O(V + A); it keeps ids, not values:
// the cluster may be changed (a link slowed down) as long as its ends stay. Routes and flows walk it;
// Boost.Graph's algorithms use the same arcs through boost_graph.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/cluster/cluster.h"

namespace trainyard {

struct Hop {
  ArcId arc;
  VertexId to;
};

class ClusterGraph {
 public:
  explicit ClusterGraph(const Cluster& cluster);

  // Arcs that leave a vertex, in the order of their links.
  std::span<const Hop> out(VertexId vertex) const;
  VertexKind kind(VertexId vertex) const { return kinds_[vertex.at()]; }  // nearer at hand than in the vertex
  std::size_t vertices() const { return first_.size() - 1; }
  std::size_t arcs() const { return hops_.size(); }

 private:
  std::vector<std::uint32_t> first_;
  std::vector<Hop> hops_;
  std::vector<VertexKind> kinds_;
};

}  // namespace trainyard
