#include "simulator/collective/algorithms/group_layout.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "core/error.h"

namespace trainyard::simulator {

namespace {

constexpr std::size_t kMostMeshGpus = 16;  // a search for a ring is only done in hosts of so many

class Sets {
 public:
  explicit Sets(std::size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0U); }
  std::uint32_t find(std::uint32_t i) {
    while (parent_[i] != i) {
      parent_[i] = parent_[parent_[i]];
      i = parent_[i];
    }
    return i;
  }
  void join(std::uint32_t a, std::uint32_t b) { parent_[find(a)] = find(b); }

 private:
  std::vector<std::uint32_t> parent_;
};

bool is_gpu_link(const Link& link) { return link.kind == LinkKind::kNvlink || link.kind == LinkKind::kXgmi; }

bool has_gpu_link(const Cluster& cluster, const ClusterGraph& graph, VertexId gpu) {
  const auto hops = graph.out(gpu);
  return std::any_of(hops.begin(), hops.end(),
                     [&](const Hop& hop) { return is_gpu_link(cluster.link(link_of(hop.arc))); });
}

// A ring over GPUs that are linked one to one, by backtracking; rank order where there is none.
class MeshRing {
 public:
  MeshRing(const Cluster& cluster, const ClusterGraph& graph, const std::vector<VertexId>& gpus)
      : linked_(gpus.size(), std::vector<bool>(gpus.size())), used_(gpus.size()) {
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      for (const Hop& hop : graph.out(gpus[i])) {
        const auto other = std::find(gpus.begin(), gpus.end(), hop.to);
        if (other != gpus.end() && is_gpu_link(cluster.link(link_of(hop.arc)))) {
          linked_[i][static_cast<std::size_t>(other - gpus.begin())] = true;
        }
      }
    }
  }

  std::vector<std::size_t> find() {
    order_ = {0};
    used_[0] = true;
    if (!extend()) {
      order_.resize(linked_.size());
      std::iota(order_.begin(), order_.end(), std::size_t{0});
    }
    return order_;
  }

 private:
  bool extend() {
    const std::size_t last = order_.back();
    if (order_.size() == linked_.size()) {
      return linked_[last][0];
    }
    for (std::size_t next = 0; next < linked_.size(); ++next) {
      if (used_[next] || !linked_[last][next]) {
        continue;
      }
      used_[next] = true;
      order_.push_back(next);
      if (extend()) {
        return true;
      }
      order_.pop_back();
      used_[next] = false;
    }
    return false;
  }

  std::vector<std::vector<bool>> linked_;
  std::vector<bool> used_;
  std::vector<std::size_t> order_;
};

bool has_switch(const Cluster& cluster, const ClusterGraph& graph, VertexId gpu) {
  const auto hops = graph.out(gpu);
  return std::any_of(hops.begin(), hops.end(),
                     [&](const Hop& hop) { return cluster.vertex(hop.to).kind == VertexKind::kNvswitch; });
}

std::vector<std::size_t> ring_of(const Cluster& cluster, const ClusterGraph& graph, const NodePart& node) {
  if (node.nvlink && node.gpus.size() > 2 && node.gpus.size() <= kMostMeshGpus &&
      !has_switch(cluster, graph, node.gpus.front())) {
    return MeshRing(cluster, graph, node.gpus).find();
  }
  std::vector<std::size_t> order(node.gpus.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

struct NicUse {
  VertexId nic;
  std::int32_t rail;
  std::size_t member;  // position in gpus of the nearest member
};

void add_nics(Routes& routes, const Domains& domains, NodePart& node) {
  const Cluster& cluster = routes.cluster();
  std::vector<NicUse> uses;
  std::vector<VertexId> first_nic;
  for (std::size_t member = 0; member < node.gpus.size(); ++member) {
    const VertexId gpu = node.gpus[member];
    const std::vector<VertexId>& nics = routes.nics(gpu);
    if (nics.empty()) {
      throw Error("no NIC on the " + std::string(to_string(routes.network())) +
                      " network, and the group has ranks on "
                      "other nodes",
                  cluster.vertex(gpu).name, "choose ranks of one node, or a cluster whose nodes are cabled");
    }
    first_nic.push_back(nics.front());
    const std::size_t count = std::max<std::size_t>(1, nics.size() / domains.gpus_of_host(gpu));
    for (std::size_t i = 0; i < std::min(count, nics.size()); ++i) {
      const auto same = [&](const NicUse& use) { return use.nic == nics[i]; };
      if (std::none_of(uses.begin(), uses.end(), same)) {
        uses.push_back({nics[i], cluster.vertex(nics[i]).rail.value_or(0), member});
      }
    }
  }
  std::stable_sort(uses.begin(), uses.end(),
                   [](const NicUse& a, const NicUse& b) { return a.rail != b.rail ? a.rail < b.rail : a.nic < b.nic; });
  std::vector<std::size_t> place(node.gpus.size());
  for (std::size_t i = 0; i < node.ring.size(); ++i) {
    place[node.ring[i]] = i;
  }
  for (const NicUse& use : uses) {
    node.nics.push_back(use.nic);
    node.heads.push_back(place[use.member]);
  }
  for (const VertexId nic : first_nic) {
    node.rail_of.push_back(
        static_cast<std::size_t>(std::find(node.nics.begin(), node.nics.end(), nic) - node.nics.begin()));
  }
}

}  // namespace

Domains::Domains(const Cluster& cluster)
    : domain_(cluster.vertices().size(), -1),
      host_(cluster.vertices().size(), 0),
      gpus_of_host_(cluster.nodes().size() + 1, 0) {
  gpus_of_host_[0] = 1;
  for (std::size_t v = 0; v < host_.size(); ++v) {
    const Vertex& vertex = cluster.vertices()[v];
    if (vertex.node) {
      host_[v] = static_cast<std::uint32_t>(vertex.node->at() + 1);
      gpus_of_host_[host_[v]] += vertex.kind == VertexKind::kGpu ? 1 : 0;
    }
  }
  Sets sets(cluster.vertices().size());
  for (const Link& link : cluster.links()) {
    if (link.network == Network::kInternal) {
      sets.join(static_cast<std::uint32_t>(link.from.value()), static_cast<std::uint32_t>(link.to.value()));
    }
  }
  constexpr std::uint32_t kNone = ~0U;
  std::vector<std::uint32_t> first_of_node(cluster.nodes().size(), kNone);
  for (std::uint32_t v = 0; v < domain_.size(); ++v) {
    if (const auto& node = cluster.vertices()[v].node) {
      std::uint32_t& first = first_of_node[node->at()];
      first == kNone ? void(first = v) : sets.join(v, first);
    }
  }
  for (std::uint32_t v = 0; v < domain_.size(); ++v) {
    std::int32_t& domain = domain_[sets.find(v)];
    if (domain < 0) {
      domain = static_cast<std::int32_t>(size_++);
    }
    domain_[v] = domain;
  }
}

std::size_t GroupLayout::ranks_per_node() const {
  const std::size_t count = nodes.front().gpus.size();
  const bool even = std::all_of(nodes.begin(), nodes.end(), [&](const NodePart& n) { return n.gpus.size() == count; });
  return even ? count : 0;
}

std::size_t GroupLayout::largest_node() const {
  std::size_t largest = 0;
  for (const NodePart& node : nodes) {
    largest = std::max(largest, node.gpus.size());
  }
  return largest;
}

GroupLayout lay_out(Routes& routes, const ClusterGraph& graph, const Domains& domains,
                    std::span<const VertexId> ranks) {
  const Cluster& cluster = routes.cluster();
  if (ranks.size() < 2) {
    throw Error("a collective of fewer than two ranks moves nothing", "ranks", "name two or more: 0-7");
  }
  GroupLayout layout;
  std::unordered_map<std::int32_t, std::int32_t> node_of_domain;
  std::unordered_set<std::int32_t> seen;
  for (const VertexId gpu : ranks) {
    if (!seen.insert(gpu.value()).second) {
      throw Error("a rank is named twice", cluster.vertex(gpu).name, "each rank once");
    }
    const auto next = static_cast<std::int32_t>(layout.nodes.size());
    const auto [found, is_new] = node_of_domain.try_emplace(domains.of(gpu), next);
    if (is_new) {
      layout.nodes.emplace_back();
    }
    NodePart& node = layout.nodes[static_cast<std::size_t>(found->second)];
    layout.ranks.push_back({found->second, static_cast<std::int32_t>(node.gpus.size())});
    node.gpus.push_back(gpu);
  }
  for (NodePart& node : layout.nodes) {
    node.nvlink = node.gpus.size() > 1 && has_gpu_link(cluster, graph, node.gpus.front());
    node.ring = ring_of(cluster, graph, node);
    if (layout.nodes.size() > 1) {
      add_nics(routes, domains, node);
      layout.rails = layout.rails == 0 ? node.nics.size() : std::min(layout.rails, node.nics.size());
    }
  }
  return layout;
}

}  // namespace trainyard::simulator
