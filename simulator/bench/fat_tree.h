// The fabric that fabric_bench shares with SimGrid.
#pragma once

#include "core/cluster/cluster.h"

namespace trainyard::simulator {

// Hosts with one NIC each, `per_leaf` on a leaf, every leaf on every spine by one cable: the platform that SimGrid
// builds as a fat tree {2, {per_leaf, leaves}, {1, spines}, {1, 1}}.
Cluster fat_tree(int per_leaf, int leaves, int spines, BytesPerSecond bandwidth, Seconds latency);

}  // namespace trainyard::simulator
