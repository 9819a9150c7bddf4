// Slurm's topology.conf, tree and block, and what `scontrol show topology` prints -> a fabric of hosts.
//
//   SwitchName=spine Switches=leaf[1-4]      SwitchName=leaf1 Nodes=node[01-16]
//   BlockName=rack1 Nodes=node[01-18]        BlockSizes=18,36
//
// A block becomes a leaf; one spine joins all blocks. Rates and cables: switch_tree.h.
// Source: topology.conf(5) of Slurm.
#pragma once

#include <string>
#include <string_view>

#include "core/cluster/cluster.h"

namespace trainyard {

Cluster import_slurm_topology(std::string_view text, const std::string& where);

}  // namespace trainyard
