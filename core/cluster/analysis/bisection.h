// Bisection: what the network carries from the first half of the hosts to the second, in rank order.
//
//   cut = max-flow from all of one half to all of the other = capacity of the smallest cut between them
//   share = cut / rate of one half's back-end ports: 1 where every GPU can talk to the other half at full rate
//
// Each half is one vertex of the flow network, which changes nothing: flow inside a half is free. A single host is
// halved by its GPUs. Max-flow: Boykov and Kolmogorov 2004 (Boost.Graph), on whole bytes per second.
#pragma once

#include <string>
#include <vector>

#include "core/cluster/cluster.h"
#include "core/cluster/link.h"

namespace trainyard {

// Links of the smallest cut that join the same kinds.
struct CutLinks {
  VertexKind from = VertexKind::kLeaf;
  VertexKind to = VertexKind::kSpine;
  std::int64_t cables = 0;
  BytesPerSecond bandwidth;
};

struct Bisection {
  BytesPerSecond bandwidth;  // of the smallest cut
  BytesPerSecond ports;      // of the half with fewer
  std::vector<CutLinks> cut;
  double share() const { return ports.si() > 0.0 ? bandwidth / ports : 0.0; }
};

// Absent for fewer than two GPUs; where there are none at all, for fewer than two hosts. Front-end cables are left out.
std::optional<Bisection> bisection(const Cluster& cluster);

}  // namespace trainyard
