// Single points of failure: devices of the back-end network whose loss alone cuts something off from the rest.
//
//   cut off by v = everything but v and the largest connected piece that is left without v
//
// Found as articulation points (Hopcroft and Tarjan 1973, biconnected components by Boost.Graph), then weighed on the
// tree of blocks and articulation points, in linear time. Twice: with hosts whole, where a host stays in as long as one
// of its NICs or its NVLink domain does; and by NIC, whose GPU then has to go over NVLink to a neighbour's.
#pragma once

#include <vector>

#include "core/cluster/cluster.h"

namespace trainyard {

struct CutPoint {
  VertexId vertex;
  std::int64_t gpus = 0;  // of hosts that are cut off altogether
  std::int64_t nics = 0;  // that are cut off; their hosts may have others
};

// Those that cut off a GPU or a NIC, worst first.
std::vector<CutPoint> cut_points(const Cluster& cluster);

}  // namespace trainyard
