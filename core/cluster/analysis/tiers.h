// Tiers of a network: how many devices each has, and what its cables carry down and up.
//
//   oversubscription of a tier = bandwidth to the tiers below / bandwidth to the tiers above
//
// 1 is a full-bisection tier, 7 one whose hosts share a seventh of their bandwidth to what lies above.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/cluster/cluster.h"

namespace trainyard {

struct Cables {
  std::int64_t count = 0;  // a link of width 4 counts 4
  BytesPerSecond bandwidth;
};

struct Tier {
  VertexKind kind = VertexKind::kNic;
  std::vector<std::pair<std::string, std::size_t>> types;  // name and how many, most first
  std::size_t count = 0;
  Cables down;    // to tiers below
  Cables up;      // to tiers above
  Cables within;  // to its own tier, as in a torus

  std::optional<double> oversubscription() const;  // of a tier with both
};

// From endpoints (NICs, GPUs with a cable, storage) to cores; tiers without a cable of the network are left out.
std::vector<Tier> tiers(const Cluster& cluster, Network network);

// Rails that the back-end NICs are on, and whether each leaf serves one only.
struct Rails {
  std::int32_t count = 0;
  bool optimised = false;
};
Rails rails(const Cluster& cluster);

}  // namespace trainyard
