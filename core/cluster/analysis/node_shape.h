// Which hosts are built alike: same devices, same links inside, same cables out.
//
// Names, rails and the switches at the far end don't count; kinds, types, widths, generations and bandwidths do.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/cluster/cluster.h"

namespace trainyard {

struct NodeShape {
  std::vector<NodeId> nodes;  // in order
  std::vector<std::pair<std::string, std::int64_t>>
      parts;  // "gpu H100-SXM5", "nic ConnectX-7 - leaf, cable 50 GB/s"; how many
};

// Most nodes first, then by first node. Nodes without a device are left out.
std::vector<NodeShape> node_shapes(const Cluster& cluster);

// "2 fewer: nic ConnectX-7; 1 more: ...": what `shape` has beside `usual`.
std::string difference(const NodeShape& shape, const NodeShape& usual);

// "pcie 5.0 x16, 63 GB/s", "nvlink 4, 18 links, 450 GB/s", "cable, 2 x 200 Gbit/s".
std::string describe(const Link& link);

}  // namespace trainyard
