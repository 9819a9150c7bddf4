#include "simulator/collective/algorithms/collnet.h"

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "simulator/collective/algorithms/tree.h"

namespace trainyard::simulator {

namespace {

constexpr std::int32_t kFar = std::numeric_limits<std::int32_t>::max();

// Breadth-first distances over the switches that lie on one network's cables.
class SwitchDistances {
 public:
  SwitchDistances(const Cluster& cluster, const ClusterGraph& graph, Network network)
      : cluster_(cluster), graph_(graph), network_(network) {}

  std::vector<std::int32_t> from(VertexId start) const {
    std::vector<std::int32_t> distance(graph_.vertices(), kFar);
    std::vector<VertexId> level = {start};
    distance[start.at()] = 0;
    while (!level.empty()) {
      std::vector<VertexId> next;
      for (const VertexId at : level) {
        if (at != start && !is_fabric_switch(cluster_.vertex(at).kind)) {
          continue;  // endpoints don't forward
        }
        for (const Hop& hop : graph_.out(at)) {
          if (passable(hop.arc) && distance[hop.to.at()] == kFar) {
            distance[hop.to.at()] = distance[at.at()] + 1;
            next.push_back(hop.to);
          }
        }
      }
      level = std::move(next);
    }
    return distance;
  }

  bool passable(ArcId arc) const {
    return cluster_.link(link_of(arc)).network == network_ && cluster_.bandwidth(arc).si() > 0.0;
  }

 private:
  const Cluster& cluster_;
  const ClusterGraph& graph_;
  Network network_;
};

std::vector<VertexId> switches_of(const Cluster& cluster, const ClusterGraph& graph, const SwitchDistances& distances,
                                  VertexId nic) {
  std::vector<VertexId> found;
  for (const Hop& hop : graph.out(nic)) {
    if (distances.passable(hop.arc) && is_fabric_switch(cluster.vertex(hop.to).kind)) {
      found.push_back(hop.to);
    }
  }
  return found;
}

std::vector<VertexId> leaves_of(const Cluster& cluster, const ClusterGraph& graph, const SwitchDistances& distances,
                                const std::vector<VertexId>& nics) {
  std::vector<VertexId> leaves;
  for (const VertexId nic : nics) {
    const auto of_nic = switches_of(cluster, graph, distances, nic);
    leaves.insert(leaves.end(), of_nic.begin(), of_nic.end());
  }
  std::sort(leaves.begin(), leaves.end());
  leaves.erase(std::unique(leaves.begin(), leaves.end()), leaves.end());
  return leaves;
}

// The switch whose farthest leaf is nearest; turns among equals.
VertexId root_of(const Cluster& cluster, const SwitchDistances& distances, const std::vector<VertexId>& leaves,
                 std::size_t turn) {
  std::vector<std::int32_t> farthest(cluster.vertices().size(), 0);
  for (const VertexId leaf : leaves) {
    const auto distance = distances.from(leaf);
    for (std::size_t v = 0; v < distance.size(); ++v) {
      farthest[v] = std::max(farthest[v], distance[v]);
    }
  }
  std::int32_t least = kFar;
  std::vector<VertexId> best;
  for (std::size_t v = 0; v < farthest.size(); ++v) {
    const VertexId id(static_cast<std::int64_t>(v));
    if (!is_fabric_switch(cluster.vertex(id).kind) || farthest[v] > least || farthest[v] == kFar) {
      continue;
    }
    if (farthest[v] < least) {
      best.clear();
      least = farthest[v];
    }
    best.push_back(id);
  }
  if (best.empty()) {
    throw Error("no switch is common to all nodes of the group",
                leaves.empty() ? "the NICs" : cluster.vertex(leaves.front()).name,
                "reduction in the fabric needs one: choose another algorithm");
  }
  return best[turn % best.size()];
}

// The first link that leads nearer to the root, its parallels taken in turn.
std::optional<ArcId> step_towards(const Cluster& cluster, const ClusterGraph& graph, const SwitchDistances& distances,
                                  const std::vector<std::int32_t>& distance, VertexId at, VertexId root,
                                  std::size_t turn) {
  std::vector<ArcId> nearer;
  for (const Hop& hop : graph.out(at)) {
    const bool forwards = hop.to == root || is_fabric_switch(cluster.vertex(hop.to).kind);
    if (forwards && distances.passable(hop.arc) && distance[hop.to.at()] + 1 == distance[at.at()]) {
      nearer.push_back(hop.arc);
    }
  }
  return nearer.empty() ? std::nullopt : std::optional(nearer[turn % nearer.size()]);
}

ArcId reversed(ArcId arc) { return is_reverse(arc) ? forward_arc(link_of(arc)) : reverse_arc(link_of(arc)); }

Network network_of_nic(const Cluster& cluster, const ClusterGraph& graph, VertexId nic) {
  for (const Hop& hop : graph.out(nic)) {
    if (is_fabric_switch(cluster.vertex(hop.to).kind)) {
      return cluster.link(link_of(hop.arc)).network;
    }
  }
  return Network::kBackend;
}

void add_switch_tree(FlowWriter& writer, const std::vector<VertexId>& nics, double bytes, std::size_t turn) {
  const Cluster& cluster = writer.cluster();
  const ClusterGraph& graph = writer.graph();
  const SwitchDistances distances(cluster, graph, network_of_nic(cluster, graph, nics.front()));
  const VertexId root = root_of(cluster, distances, leaves_of(cluster, graph, distances, nics), turn);
  const std::vector<std::int32_t> distance = distances.from(root);
  const std::int32_t group = writer.new_coupled_group();
  std::vector<bool> joined(cluster.vertices().size());
  joined[root.at()] = true;
  for (const VertexId nic : nics) {
    for (VertexId at = nic; !joined[at.at()];) {
      joined[at.at()] = true;
      const auto up = step_towards(cluster, graph, distances, distance, at, root, turn);
      check(up.has_value(), "every NIC of a switch tree reaches its root");
      writer.across_on(*up, bytes, group);
      writer.across_on(reversed(*up), bytes, group);
      at = cluster.head(*up);
    }
  }
}

}  // namespace

void add_switch_trees(FlowWriter& writer, const GroupLayout& layout, double size) {
  const double bytes = size / static_cast<double>(layout.rails);
  for (std::size_t rail = 0; rail < layout.rails; ++rail) {
    std::vector<VertexId> nics;
    for (const NodePart& node : layout.nodes) {
      nics.push_back(node.nics[rail]);
      AcrossMessage host;
      host.from = node.head(rail);
      host.to = host.from_nic = host.to_nic = node.nics[rail];
      host.bytes = bytes;
      host.channel = static_cast<std::int32_t>(rail);
      writer.across(host);
      std::swap(host.from, host.to);
      writer.across(host);
    }
    add_switch_tree(writer, nics, bytes, rail);
  }
}

void add_collnet_direct(FlowWriter& writer, const GroupLayout& layout, double size) {
  for (const NodePart& node : layout.nodes) {
    const double part = size / static_cast<double>(node.gpus.size());
    for (const VertexId from : node.gpus) {
      for (const VertexId to : node.gpus) {
        writer.inside(from, to, 2.0 * part);
      }
    }
  }
  add_switch_trees(writer, layout, size);
}

void add_collnet_chain(FlowWriter& writer, const GroupLayout& layout, double size) {
  for (const NodePart& node : layout.nodes) {
    add_chains(writer, layout, node, size);
  }
  add_switch_trees(writer, layout, size);
}

}  // namespace trainyard::simulator
