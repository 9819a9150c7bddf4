#include "core/cluster/analysis/lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "core/cluster/analysis/node_shape.h"
#include "core/cluster/distance.h"
#include "core/units/format_quantity.h"

namespace trainyard {

namespace {

class Findings {
 public:
  void add(LintKind kind, const std::string& what, const std::string& name) {
    std::vector<std::string>& names = names_[{kind, what}];
    if (names.empty() || names.back() != name) {  // a NIC with several such cables is found once
      names.push_back(name);
    }
  }
  std::vector<Finding> take() {
    std::vector<Finding> result;
    for (auto& [key, names] : names_) {
      result.push_back({key.first, key.second, std::move(names)});
    }
    return result;
  }

 private:
  std::map<std::pair<LintKind, std::string>, std::vector<std::string>> names_;
};

// The value that more than half of them have.
template <class T>
std::optional<T> majority(const std::map<T, std::size_t>& counts) {
  std::size_t total = 0;
  for (const auto& [value, count] : counts) {
    total += count;
  }
  for (const auto& [value, count] : counts) {
    if (2 * count > total) {
      return value;
    }
  }
  return std::nullopt;
}

struct NicLinks {
  std::optional<Link> pcie;  // the widest
  BytesPerSecond cables;
};

NicLinks links_of(const Cluster& cluster, const ClusterGraph& graph, VertexId nic) {
  NicLinks links;
  for (const Hop& hop : graph.out(nic)) {
    const Link& link = cluster.link(link_of(hop.arc));
    if (link.kind == LinkKind::kCable) {
      links.cables += link.bandwidth;
    } else if (link.kind == LinkKind::kPcie && (!links.pcie || links.pcie->bandwidth < link.bandwidth)) {
      links.pcie = link;
    }
  }
  return links;
}

void far_nics(const Cluster& cluster, const ClusterGraph& graph, Findings& findings) {
  for (const VertexId gpu : cluster.gpus()) {
    const std::vector<NicPath> nics = nics_of(cluster, graph, gpu, Network::kBackend);
    if (!nics.empty() && nics.front().path > kGpudirectLimit) {
      findings.add(LintKind::kFarNic,
                   fmt::format("nearest back-end NIC is {} away: data bounces through host memory, at {}",
                               to_string(nics.front().path), format_quantity(nics.front().bandwidth)),
                   cluster.vertex(gpu).name);
    }
  }
}

void slow_nics(const Cluster& cluster, const ClusterGraph& graph, Findings& findings) {
  struct Usual {
    std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> pcie;  // generation and lanes
    std::map<bool, std::size_t> cabled;
  };
  std::map<std::pair<DeviceTypeId, bool>, Usual> by_type;
  const std::vector<VertexId> nics = cluster.of_kind(VertexKind::kNic);
  std::vector<NicLinks> links;
  const auto usual_of = [&](VertexId nic) -> Usual& {
    return by_type[{cluster.vertex(nic).type, cluster.vertex(nic).rail.has_value()}];
  };
  for (const VertexId nic : nics) {
    links.push_back(links_of(cluster, graph, nic));
    Usual& usual = usual_of(nic);
    ++usual.cabled[links.back().cables.si() > 0.0];
    if (const std::optional<Link>& pcie = links.back().pcie) {
      ++usual.pcie[{pcie->generation.value_or(0), pcie->width}];
    }
  }
  for (std::size_t i = 0; i < nics.size(); ++i) {
    const std::string& name = cluster.vertex(nics[i]).name;
    const Usual& usual = usual_of(nics[i]);
    if (majority(usual.cabled) == std::optional<bool>(true) && !(links[i].cables.si() > 0.0)) {
      findings.add(LintKind::kUncabledNic, "no cable, unlike most of its type", name);
    }
    if (!links[i].pcie) {
      continue;
    }
    const Link& pcie = *links[i].pcie;
    if (const auto most = majority(usual.pcie)) {
      if (pcie.width < most->second || pcie.generation.value_or(0) < most->first) {
        findings.add(
            LintKind::kSlowNic,
            fmt::format("on {}, most of its type on generation {} x{}", describe(pcie), most->first, most->second),
            name);
        continue;
      }
    }
    if (pcie.bandwidth < links[i].cables) {
      findings.add(LintKind::kSlowNic,
                   fmt::format("on {}, slower than its cables' {}", describe(pcie), format_quantity(links[i].cables)),
                   name);
    }
  }
}

void uneven_switches(const Cluster& cluster, const ClusterGraph& graph, Findings& findings) {
  const auto upwards = [&](VertexId id) {
    BytesPerSecond up;
    for (const Hop& hop : graph.out(id)) {
      const VertexKind kind = cluster.vertex(hop.to).kind;
      if (is_fabric_switch(kind) && kind > cluster.vertex(id).kind) {
        up += cluster.bandwidth(hop.arc);
      }
    }
    return up;
  };
  // Switches of the front end and the back end have names of their own kind: their networks tell them apart.
  const auto group_of = [&](VertexId id) {
    const auto out = graph.out(id);
    const Network network = out.empty() ? Network::kInternal : cluster.link(link_of(out.front().arc)).network;
    return std::tuple(cluster.vertex(id).kind, cluster.vertex(id).type, network);
  };
  std::map<std::tuple<VertexKind, DeviceTypeId, Network>, std::map<std::int64_t, std::size_t>> rates;
  std::vector<std::pair<VertexId, std::int64_t>> switches;
  for (std::size_t v = 0; v < cluster.vertices().size(); ++v) {
    const VertexId id(static_cast<std::int64_t>(v));
    if (is_fabric_switch(cluster.vertex(id).kind)) {
      switches.emplace_back(id, static_cast<std::int64_t>(upwards(id).si()));
      ++rates[group_of(id)][switches.back().second];
    }
  }
  for (const auto& [id, rate] : switches) {
    const std::optional<std::int64_t> usual = majority(rates[group_of(id)]);
    if (usual && rate < *usual) {
      const auto text = [](std::int64_t value) {
        return format_quantity(from_si<BytesPerSecond>(static_cast<double>(value)));
      };
      findings.add(LintKind::kUnevenLeaf, fmt::format("{} up, most of its tier {}", text(rate), text(*usual)),
                   cluster.vertex(id).name);
    }
  }
}

// Rails are for hosts that have all of them; a NIC of a storage or management host is on any leaf.
void wrong_rails(const Cluster& cluster, Findings& findings) {
  std::vector<std::int32_t> highest(cluster.nodes().size(), 0);
  for (const Vertex& vertex : cluster.vertices()) {
    if (vertex.kind == VertexKind::kNic && vertex.rail && vertex.node) {
      highest[vertex.node->at()] = std::max(highest[vertex.node->at()], *vertex.rail);
    }
  }
  const std::int32_t last_rail = highest.empty() ? 0 : *std::max_element(highest.begin(), highest.end());
  for (const Link& link : cluster.links()) {
    for (const auto& [nic, leaf] : {std::pair(link.from, link.to), std::pair(link.to, link.from)}) {
      const Vertex& end = cluster.vertex(nic);
      const Vertex& above = cluster.vertex(leaf);
      if (end.kind == VertexKind::kNic && above.kind == VertexKind::kLeaf && end.rail && above.rail &&
          *end.rail != *above.rail && end.node && highest[end.node->at()] == last_rail) {
        findings.add(LintKind::kWrongRail,
                     fmt::format("of rail {}, cabled to a leaf of rail {}", *end.rail, *above.rail), end.name);
      }
    }
  }
}

void odd_nodes(const Cluster& cluster, Findings& findings) {
  const std::vector<NodeShape> shapes = node_shapes(cluster);
  if (shapes.size() < 2 || shapes.front().nodes.size() == shapes[1].nodes.size()) {
    return;  // no usual one to differ from
  }
  for (std::size_t i = 1; i < shapes.size(); ++i) {
    for (const NodeId node : shapes[i].nodes) {
      findings.add(LintKind::kOddNode, "unlike most hosts: " + difference(shapes[i], shapes.front()),
                   cluster.nodes()[node.at()]);
    }
  }
}

}  // namespace

std::string_view to_string(LintKind kind) {
  constexpr std::array<std::string_view, kLintKinds> kNames = {"far_nic",     "slow_nic",   "uncabled_nic",
                                                               "uneven_leaf", "wrong_rail", "odd_node"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<Finding> lint(const Cluster& cluster, const ClusterGraph& graph) {
  Findings findings;
  far_nics(cluster, graph, findings);
  slow_nics(cluster, graph, findings);
  uneven_switches(cluster, graph, findings);
  wrong_rails(cluster, findings);
  odd_nodes(cluster, findings);
  return findings.take();
}

}  // namespace trainyard
