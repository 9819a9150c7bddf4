// Fabrics that fabric_bench runs on.
#pragma once

#include "core/cluster/cluster.h"

namespace trainyard::simulator {

// Hosts with one NIC each, `per_leaf` on a leaf, every leaf on every spine by one cable: the platform that SimGrid
// builds as a fat tree {2, {per_leaf, leaves}, {1, spines}, {1, 1}}.
Cluster fat_tree(int per_leaf, int leaves, int spines, BytesPerSecond bandwidth, Seconds latency);

// Nodes of 8 GPUs and 8 NICs in scalable units of 32 nodes: NIC r on leaf r of its unit, four cables from each of the
// unit's 8 leaves to each of its 8 spines, one from each spine to its 32 of 256 cores. 64 units are 16,384 GPUs, 512
// leaves, 512 spines and 256 cores with 16,384 cables a tier, as a DGX SuperPOD's.
Cluster rail_fabric(int units, BytesPerSecond bandwidth);

}  // namespace trainyard::simulator
