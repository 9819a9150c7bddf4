// What tests ask of an imported cluster.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/cluster/cluster.h"

namespace trainyard {

inline std::size_t count(const Cluster& cluster, VertexKind kind) { return cluster.of_kind(kind).size(); }

inline std::size_t count(const Cluster& cluster, LinkKind kind) {
  return static_cast<std::size_t>(std::count_if(cluster.links().begin(), cluster.links().end(),
                                                [kind](const Link& link) { return link.kind == kind; }));
}

// Links between the vertices of these names, either way round.
inline std::vector<Link> links_between(const Cluster& cluster, std::string_view a, std::string_view b) {
  std::vector<Link> found;
  for (const Link& link : cluster.links()) {
    const std::string& from = cluster.vertex(link.from).name;
    const std::string& to = cluster.vertex(link.to).name;
    if ((from == a && to == b) || (from == b && to == a)) {
      found.push_back(link);
    }
  }
  return found;
}

inline double gigabytes(BytesPerSecond rate) { return rate.si() / 1e9; }

// One way, all links of the kind at the vertex together.
inline double gigabytes_at(const Cluster& cluster, VertexId vertex, LinkKind kind) {
  double sum = 0.0;
  for (const Link& link : cluster.links()) {
    if (link.kind == kind && link.from == vertex) {
      sum += gigabytes(link.bandwidth);
    } else if (link.kind == kind && link.to == vertex) {
      sum += gigabytes(link.reverse_bandwidth);
    }
  }
  return sum;
}

inline bool has_note(const Cluster& cluster, std::string_view part) {
  return std::any_of(cluster.notes.begin(), cluster.notes.end(),
                     [part](const std::string& note) { return note.find(part) != std::string::npos; });
}

}  // namespace trainyard
