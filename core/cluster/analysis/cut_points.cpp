#include "core/cluster/analysis/cut_points.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/biconnected_components.hpp>
#include <map>
#include <tuple>

namespace trainyard {

namespace {

using Undirected = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS, boost::no_property,
                                         boost::property<boost::edge_index_t, std::size_t>>;

// Vertices with weights, and edges. Of parallel edges Boost would leave all but one without a block.
struct WeightedGraph {
  explicit WeightedGraph(std::size_t vertices) : weight(vertices, 0) {}
  void join(std::size_t a, std::size_t b) { edges.push_back(std::minmax(a, b)); }
  Undirected simple_graph() const {
    std::vector<std::pair<std::size_t, std::size_t>> unique = edges;
    std::sort(unique.begin(), unique.end());
    unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
    Undirected graph(weight.size());
    for (const auto& [a, b] : unique) {
      boost::add_edge(a, b, boost::num_edges(graph), graph);
    }
    return graph;
  }
  std::vector<std::pair<std::size_t, std::size_t>> edges;
  std::vector<std::int64_t> weight;
};

// The blocks (biconnected components) and articulation points of a graph as a forest: a point is next to the blocks
// it lies in. Blocks come first in the numbering.
struct BlockForest {
  std::vector<std::vector<std::size_t>> next;
  std::vector<std::int64_t> weight;  // of a block: its vertices that are no points
  std::vector<std::size_t> point;    // vertex of the graph, by tree vertex - blocks
  std::size_t blocks = 0;
};

BlockForest block_forest(const WeightedGraph& weighted) {
  const Undirected graph = weighted.simple_graph();
  std::vector<std::size_t> block_of_edge(boost::num_edges(graph));
  BlockForest forest;
  const auto edge_block =
      boost::make_iterator_property_map(block_of_edge.begin(), boost::get(boost::edge_index, graph));
  forest.blocks = boost::biconnected_components(graph, edge_block, std::back_inserter(forest.point)).first;
  std::sort(forest.point.begin(), forest.point.end());
  forest.point.erase(std::unique(forest.point.begin(), forest.point.end()), forest.point.end());
  forest.next.resize(forest.blocks + forest.point.size());
  forest.weight.resize(forest.next.size(), 0);
  for (std::size_t v = 0; v < boost::num_vertices(graph); ++v) {
    std::vector<std::size_t> blocks;
    for (auto [edge, end] = boost::out_edges(v, graph); edge != end; ++edge) {
      blocks.push_back(edge_block[*edge]);
    }
    std::sort(blocks.begin(), blocks.end());
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    const auto point = std::lower_bound(forest.point.begin(), forest.point.end(), v);
    if (point == forest.point.end() || *point != v) {
      if (!blocks.empty()) {
        forest.weight[blocks.front()] += weighted.weight[v];
      }
      continue;
    }
    const std::size_t at = forest.blocks + static_cast<std::size_t>(point - forest.point.begin());
    forest.weight[at] = weighted.weight[v];
    for (const std::size_t block : blocks) {
      forest.next[at].push_back(block);
      forest.next[block].push_back(at);
    }
  }
  return forest;
}

// By vertex of the graph: weight that its loss cuts off; 0 for what is no articulation point.
std::vector<std::int64_t> cut_off(const WeightedGraph& weighted) {
  const BlockForest forest = block_forest(weighted);
  std::vector<std::int64_t> result(weighted.weight.size(), 0);
  const std::size_t none = forest.next.size();
  std::vector<std::size_t> parent(forest.next.size(), none);
  std::vector<bool> seen(forest.next.size(), false);
  std::vector<std::int64_t> below = forest.weight;
  for (std::size_t root = 0; root < forest.next.size(); ++root) {
    if (seen[root]) {
      continue;
    }
    std::vector<std::size_t> order = {root};
    seen[root] = true;
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (const std::size_t child : forest.next[order[i]]) {
        if (!seen[child]) {
          seen[child] = true;
          parent[child] = order[i];
          order.push_back(child);
        }
      }
    }
    for (std::size_t i = order.size(); i-- > 1;) {
      below[parent[order[i]]] += below[order[i]];
    }
    const std::int64_t total = below[root];
    for (const std::size_t at : order) {
      if (at < forest.blocks) {
        continue;
      }
      std::int64_t largest = total - below[at];
      for (const std::size_t child : forest.next[at]) {
        largest = child == parent[at] ? largest : std::max(largest, below[child]);
      }
      result[forest.point[at - forest.blocks]] = total - forest.weight[at] - largest;
    }
  }
  return result;
}

bool joins_hosts(const Cluster& cluster, const Link& link) {
  if (link.network == Network::kFrontend) {
    return false;
  }
  const std::optional<NodeId> from = cluster.vertex(link.from).node;
  return !from || from != cluster.vertex(link.to).node;
}

// Devices of a host are one vertex, which weighs its GPUs; what is in no host is a vertex of its own.
std::vector<std::int64_t> gpus_cut_off(const Cluster& cluster) {
  const std::size_t nodes = cluster.nodes().size();
  WeightedGraph weighted(nodes + cluster.vertices().size());
  const auto place = [&](VertexId id) {
    const std::optional<NodeId> node = cluster.vertex(id).node;
    return node ? node->at() : nodes + id.at();
  };
  for (const VertexId gpu : cluster.gpus()) {
    ++weighted.weight[place(gpu)];
  }
  for (const Link& link : cluster.links()) {
    if (joins_hosts(cluster, link)) {
      weighted.join(place(link.from), place(link.to));
    }
  }
  const std::vector<std::int64_t> by_place = cut_off(weighted);
  return {by_place.begin() + static_cast<std::int64_t>(nodes), by_place.end()};
}

// Cables only: every NIC is an endpoint that weighs one.
std::vector<std::int64_t> nics_cut_off(const Cluster& cluster) {
  WeightedGraph weighted(cluster.vertices().size());
  for (const Link& link : cluster.links()) {
    if (link.kind == LinkKind::kCable && link.network == Network::kBackend) {
      weighted.join(link.from.at(), link.to.at());
      for (const VertexId end : {link.from, link.to}) {
        weighted.weight[end.at()] = cluster.vertex(end).kind == VertexKind::kNic ? 1 : 0;
      }
    }
  }
  return cut_off(weighted);
}

}  // namespace

std::vector<CutPoint> cut_points(const Cluster& cluster) {
  const std::vector<std::int64_t> gpus = gpus_cut_off(cluster);
  const std::vector<std::int64_t> nics = nics_cut_off(cluster);
  std::vector<CutPoint> points;
  for (std::size_t v = 0; v < cluster.vertices().size(); ++v) {
    if (gpus[v] != 0 || nics[v] != 0) {
      points.push_back({VertexId(static_cast<std::int64_t>(v)), gpus[v], nics[v]});
    }
  }
  std::stable_sort(points.begin(), points.end(), [](const CutPoint& a, const CutPoint& b) {
    return std::tuple(a.gpus, a.nics) > std::tuple(b.gpus, b.nics);
  });
  return points;
}

}  // namespace trainyard
