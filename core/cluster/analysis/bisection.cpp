#include "core/cluster/analysis/bisection.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <cmath>
#include <map>

namespace trainyard {

namespace {

using Capacity = std::int64_t;  // bytes per second
using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using FlowGraph = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS,
    boost::property<
        boost::vertex_index_t, std::size_t,
        boost::property<boost::vertex_color_t, boost::default_color_type,
                        boost::property<boost::vertex_distance_t, std::int64_t,
                                        boost::property<boost::vertex_predecessor_t, Traits::edge_descriptor>>>>,
    boost::property<boost::edge_capacity_t, Capacity,
                    boost::property<boost::edge_residual_capacity_t, Capacity,
                                    boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;

constexpr std::size_t kSource = 0;
constexpr std::size_t kSink = 1;

Capacity capacity(BytesPerSecond rate) {
  constexpr double kMost = 1e18;  // sums of a whole cluster stay below 2^63
  return static_cast<Capacity>(std::llround(std::min(rate.si(), kMost / 1e3)));
}

// Where each vertex of the cluster is in the flow network: a half, or itself.
std::vector<std::size_t> contract(const Cluster& cluster, std::size_t& count) {
  const std::size_t nodes = cluster.nodes().size();
  const std::vector<VertexId> gpus = cluster.gpus();
  std::vector<std::size_t> place(cluster.vertices().size());
  count = 2;
  if (nodes >= 2) {
    // Ranks run over the nodes that hold GPUs, in order. A fabric's file alone knows no GPUs: its hosts' NICs then.
    std::vector<bool> first(nodes, false);
    std::vector<bool> counted(nodes, false);
    std::vector<std::size_t> order;
    for (const VertexId endpoint : gpus.empty() ? cluster.of_kind(VertexKind::kNic) : gpus) {
      const std::optional<NodeId> node = cluster.vertex(endpoint).node;
      if (node && !counted[node->at()]) {
        counted[node->at()] = true;
        order.push_back(node->at());
      }
    }
    for (std::size_t i = 0; i < order.size() / 2; ++i) {
      first[order[i]] = true;
    }
    for (std::size_t v = 0; v < place.size(); ++v) {
      const std::optional<NodeId> node = cluster.vertices()[v].node;
      place[v] = !node || !counted[node->at()] ? count++ : (first[node->at()] ? kSource : kSink);
    }
    return place;
  }
  for (std::size_t& at : place) {
    at = count++;
  }
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    place[gpus[i].at()] = i < gpus.size() / 2 ? kSource : kSink;
  }
  return place;
}

// Parallel links between the same two places are one edge each way.
FlowGraph flow_graph(const Cluster& cluster, const std::vector<std::size_t>& place, std::size_t count) {
  std::map<std::pair<std::size_t, std::size_t>, std::pair<Capacity, Capacity>> merged;
  for (const Link& link : cluster.links()) {
    const std::size_t from = place[link.from.at()];
    const std::size_t to = place[link.to.at()];
    if (from == to || link.network == Network::kFrontend) {
      continue;
    }
    auto& [forward, backward] = merged[std::minmax(from, to)];
    forward += capacity(from < to ? link.bandwidth : link.reverse_bandwidth);
    backward += capacity(from < to ? link.reverse_bandwidth : link.bandwidth);
  }
  FlowGraph graph(count);
  for (const auto& [ends, capacities] : merged) {
    const auto forward = boost::add_edge(ends.first, ends.second, graph).first;
    const auto backward = boost::add_edge(ends.second, ends.first, graph).first;
    boost::put(boost::edge_capacity, graph, forward, capacities.first);
    boost::put(boost::edge_capacity, graph, backward, capacities.second);
    boost::put(boost::edge_reverse, graph, forward, backward);
    boost::put(boost::edge_reverse, graph, backward, forward);
  }
  return graph;
}

// Rate of the back-end ports of a half; of NVLink in a single host.
BytesPerSecond port_rate(const Cluster& cluster, const std::vector<std::size_t>& place, std::size_t half) {
  const bool single = cluster.nodes().size() < 2;
  BytesPerSecond total;
  for (const Link& link : cluster.links()) {
    const bool counts = single ? link.network == Network::kInternal
                               : link.network == Network::kBackend && link.kind == LinkKind::kCable;
    if (counts && (place[link.from.at()] == half) != (place[link.to.at()] == half)) {
      total += place[link.from.at()] == half ? link.bandwidth : link.reverse_bandwidth;
    }
  }
  return total;
}

std::vector<CutLinks> cut_links(const Cluster& cluster, const std::vector<std::size_t>& place,
                                const std::vector<bool>& source_side) {
  std::map<std::pair<VertexKind, VertexKind>, CutLinks> groups;
  for (const Link& link : cluster.links()) {
    const bool from = source_side[place[link.from.at()]];
    const bool to = source_side[place[link.to.at()]];
    if (from == to || link.network == Network::kFrontend) {
      continue;
    }
    const VertexKind inside = cluster.vertex(from ? link.from : link.to).kind;
    const VertexKind outside = cluster.vertex(from ? link.to : link.from).kind;
    CutLinks& group = groups[{inside, outside}];
    group.from = inside;
    group.to = outside;
    group.cables += link.width;
    group.bandwidth += from ? link.bandwidth : link.reverse_bandwidth;
  }
  std::vector<CutLinks> result;
  for (const auto& [kinds, group] : groups) {
    result.push_back(group);
  }
  return result;
}

}  // namespace

std::optional<Bisection> bisection(const Cluster& cluster) {
  std::size_t count = 0;
  const std::vector<std::size_t> place = contract(cluster, count);
  const auto holds = [&](std::size_t half) { return std::find(place.begin(), place.end(), half) != place.end(); };
  if (!holds(kSource) || !holds(kSink)) {
    return std::nullopt;
  }
  FlowGraph graph = flow_graph(cluster, place, count);
  const Capacity flow = boost::boykov_kolmogorov_max_flow(graph, kSource, kSink);
  std::vector<bool> source_side(count);
  for (std::size_t v = 0; v < count; ++v) {
    // What the last search reached from the source.
    source_side[v] = boost::get(boost::vertex_color, graph, v) == boost::black_color;
  }
  source_side[kSource] = true;
  Bisection result;
  result.bandwidth = from_si<BytesPerSecond>(static_cast<double>(flow));
  result.ports = min(port_rate(cluster, place, kSource), port_rate(cluster, place, kSink));
  result.cut = cut_links(cluster, place, source_side);
  return result;
}

}  // namespace trainyard
