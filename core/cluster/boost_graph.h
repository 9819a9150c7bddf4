// The cluster's arcs as a Boost compressed sparse row graph, for Boost.Graph's algorithms (max-flow,
// biconnected components, searches). Heavy to compile: include it in sources that call them, not in headers.
#pragma once

#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/cluster/cluster.h"

namespace trainyard {

struct BoostArc {
  std::int32_t arc = 0;  // ArcId
};
using BoostGraph = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, BoostArc,
                                                      boost::no_property, std::uint32_t, std::uint32_t>;

inline BoostGraph boost_graph(const Cluster& cluster) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  std::vector<BoostArc> arcs;
  for (std::size_t a = 0; a < 2 * cluster.links().size(); ++a) {
    const ArcId arc(static_cast<std::int64_t>(a));
    edges.emplace_back(static_cast<std::uint32_t>(cluster.tail(arc).value()),
                       static_cast<std::uint32_t>(cluster.head(arc).value()));
    arcs.push_back({arc.value()});
  }
  return BoostGraph(boost::edges_are_unsorted_multi_pass, edges.begin(), edges.end(), arcs.begin(),
                    static_cast<std::uint32_t>(cluster.vertices().size()));
}

}  // namespace trainyard
