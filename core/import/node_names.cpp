#include "core/import/node_names.h"

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace trainyard {

std::string UniqueNames::name(const std::string& wanted) {
  std::string name = wanted;
  for (int copy = 2; !given_.insert(name).second; ++copy) {
    name = wanted + "#" + std::to_string(copy);
  }
  return name;
}

void set_rails(Cluster& cluster) {
  std::vector<std::optional<BytesPerSecond>> fastest(cluster.nodes().size());
  const std::vector<VertexId> nics = cluster.of_kind(VertexKind::kNic);
  const auto rate = [&](VertexId nic) { return cluster.type(nic).port_rate.value_or(BytesPerSecond()); };
  for (const VertexId nic : nics) {
    if (const auto node = cluster.vertex(nic).node) {
      auto& best = fastest[node->at()];
      best = best ? max(*best, rate(nic)) : rate(nic);
    }
  }
  std::vector<std::int32_t> next(cluster.nodes().size(), 0);
  for (const VertexId nic : nics) {
    const auto node = cluster.vertex(nic).node;
    if (node && rate(nic) == fastest[node->at()]) {
      cluster.vertex(nic).rail = next[node->at()]++;
    }
  }
}

void set_leaf_rails(Cluster& cluster) {
  std::map<std::int32_t, std::set<std::optional<std::int32_t>>> served;
  for (const Link& link : cluster.links()) {
    for (const auto& [leaf, nic] : {std::pair(link.from, link.to), std::pair(link.to, link.from)}) {
      const Vertex& end = cluster.vertex(nic);
      if (cluster.vertex(leaf).kind == VertexKind::kLeaf && end.kind == VertexKind::kNic && end.node) {
        served[leaf.value()].insert(end.rail);
      }
    }
  }
  for (const auto& [leaf, rails] : served) {
    cluster.vertex(VertexId(leaf)).rail = rails.size() == 1 ? *rails.begin() : std::nullopt;
  }
}

}  // namespace trainyard
