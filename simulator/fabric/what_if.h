// What if: the cluster with links, switches or NICs down or slowed. Routes of the changed cluster go round what is
// down; prices follow.
//
//   link:NAME-NAME=STATE     all links between the two, each way
//   switch:NAME=STATE        all links of a switch (fabric, NVSwitch or PCIe switch)
//   nic:NAME=STATE           all cables of a NIC
//
//   STATE  down        out of service
//          half        half the width: half the cables of a bundle, half the lanes of anything else
//          cable-down  one cable of each bundle; a single cable is down
//          FRACTION    from 0.001 to 1: at that part of its bandwidth ("0.25"). Less than any link that is up carries
//                      (PCIe generation 1 x1 is 0.004 of generation 5 x16) would leave traffic on it: that is "down"
//          flap:F      down a fraction F of the time: counts as bandwidth times (1 - F). What each change of state
//                      costs (reconvergence, retransmission) is not in it, and a note says so
//
// Vertices keep their ids; links behind one that is down move up.
#pragma once

#include <span>
#include <string>

#include "core/cluster/cluster.h"

namespace trainyard::simulator {

// Applied in their order. Each adds a note to the cluster. Throws Error (where: the change) for an unknown name, one
// of another kind, a pair without a link, a state that isn't one, or one cable of a switch none of whose links has two.
Cluster with_changes(const Cluster& cluster, std::span<const std::string> changes);

}  // namespace trainyard::simulator
