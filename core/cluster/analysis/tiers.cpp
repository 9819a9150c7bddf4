#include "core/cluster/analysis/tiers.h"

#include <algorithm>
#include <map>
#include <set>

namespace trainyard {

namespace {

// Height above the hosts. Endpoints share the lowest.
int height(VertexKind kind) {
  switch (kind) {
    case VertexKind::kLeaf:
      return 1;
    case VertexKind::kSpine:
      return 2;
    case VertexKind::kCore:
      return 3;
    default:
      return 0;
  }
}

void add(Cables& cables, const Link& link, BytesPerSecond bandwidth) {
  cables.count += link.width;
  cables.bandwidth += bandwidth;
}

}  // namespace

std::optional<double> Tier::oversubscription() const {
  if (down.count == 0 || up.count == 0) {
    return std::nullopt;
  }
  return down.bandwidth / up.bandwidth;
}

std::vector<Tier> tiers(const Cluster& cluster, Network network) {
  std::map<std::pair<int, VertexKind>, Tier> by_kind;
  std::map<std::pair<VertexKind, std::string>, std::size_t> types;
  std::vector<bool> seen(cluster.vertices().size(), false);
  const auto tier_of = [&](VertexId id) -> Tier& {
    const VertexKind kind = cluster.vertex(id).kind;
    Tier& tier = by_kind[{height(kind), kind}];
    tier.kind = kind;
    if (!seen[id.at()]) {
      seen[id.at()] = true;
      ++tier.count;
      ++types[{kind, cluster.type(id).name}];
    }
    return tier;
  };
  for (const Link& link : cluster.links()) {
    if (link.network != network || link.kind != LinkKind::kCable) {
      continue;
    }
    Tier& from = tier_of(link.from);
    Tier& to = tier_of(link.to);
    const int rise = height(to.kind) - height(from.kind);
    if (rise == 0) {
      add(from.within, link, link.bandwidth);
    } else {
      // Both sides count the way up: a host's traffic to what lies above.
      const BytesPerSecond upwards = rise > 0 ? link.bandwidth : link.reverse_bandwidth;
      add(rise > 0 ? from.up : from.down, link, upwards);
      add(rise > 0 ? to.down : to.up, link, upwards);
    }
  }
  std::vector<Tier> result;
  for (auto& [key, tier] : by_kind) {
    for (const auto& [type, count] : types) {
      if (type.first == tier.kind) {
        tier.types.emplace_back(type.second, count);
      }
    }
    std::stable_sort(tier.types.begin(), tier.types.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    result.push_back(std::move(tier));
  }
  return result;
}

Rails rails(const Cluster& cluster) {
  std::set<std::int32_t> all;
  std::map<VertexId, std::set<std::int32_t>> served;
  for (const Link& link : cluster.links()) {
    if (link.network != Network::kBackend || link.kind != LinkKind::kCable) {
      continue;
    }
    for (const auto& [nic, leaf] : {std::pair(link.from, link.to), std::pair(link.to, link.from)}) {
      const Vertex& end = cluster.vertex(nic);
      if (end.kind == VertexKind::kNic && end.rail && cluster.vertex(leaf).kind == VertexKind::kLeaf) {
        all.insert(*end.rail);
        served[leaf].insert(*end.rail);
      }
    }
  }
  const bool optimised = all.size() > 1 && std::all_of(served.begin(), served.end(),
                                                       [](const auto& leaf) { return leaf.second.size() == 1; });
  return {static_cast<std::int32_t>(all.size()), optimised};
}

}  // namespace trainyard
