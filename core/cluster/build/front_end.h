// The front-end network: storage, data loading, logins. Published designs say little about it, so this one is an
// assumption that every builder shares and notes:
//
//   a pair of leaves for each 32 hosts, each front-end NIC of a host on another leaf of the pair, one uplink for two
//   host ports, and one storage server for 16 hosts with two ports of 200 Gbit/s on one pair
#pragma once

#include <vector>

#include "core/cluster/build/assembler.h"
#include "core/cluster/build/host.h"

namespace trainyard::build {

void add_front_end(Assembler& assembler, const std::vector<Host>& hosts, BytesPerSecond rate);

}  // namespace trainyard::build
