// A node's file and a fabric's file -> one cluster: every host of the fabric gets the node's inside.
//
// The fabric's NICs are matched with the node's:
//   by name            all of a host's names are the node's ("mlx5_0"); a host may have fewer than the node
//   by number          names that differ but end in distinct numbers ("HCA-1" is the node's mlx5_1), where the node has
//                      NICs of all these numbers
//   by order           as many as the node has, in the order of their names
//   one for the host   files that know only hosts: each of the node's fastest NICs is cabled as that endpoint
// Hosts with half of the usual number of NICs or fewer stay as they are: servers that manage the fabric or store.
// NICs of the node that the fabric doesn't list are left out of that host. A host with NICs the node hasn't, or too
// few to tell which, is an Error that names it. Where the fabric's file gave no rates, its cables get the rate of the
// NICs they serve. GPUs keep the order of hosts, then of the node.
#pragma once

#include <string>

#include "core/cluster/cluster.h"

namespace trainyard {

// `where` names the pair in Errors.
Cluster combine(const Cluster& node, const Cluster& fabric, const std::string& where);

}  // namespace trainyard
