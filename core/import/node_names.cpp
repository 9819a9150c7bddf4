#include "core/import/node_names.h"

#include <algorithm>
#include <optional>
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

}  // namespace trainyard
