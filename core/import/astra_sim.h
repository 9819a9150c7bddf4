// ASTRA-sim's analytical network (YAML) -> a cluster.
//
//   topology: [Switch, Ring]   npus_count: [8, 4]   bandwidth: [400, 50]   latency: [936.25, 1000]
//
// GB/s per link and direction, ns per link; the first dimension is the innermost. Ring: a link to each neighbour;
// FullyConnected: a link to every other; Switch: a link to one switch. The first dimension is inside a host, as are
// all of them where none is a switch (a TPU's torus). In the others, each GPU has a NIC per dimension.
// Source: astra-sim/astra-network-analytical, README and input files.
#pragma once

#include <string>
#include <string_view>

#include "core/cluster/cluster.h"

namespace trainyard {

Cluster import_astra_sim(std::string_view text, const std::string& where);

}  // namespace trainyard
