// CollNet (SHARP): the switches of the fabric add up what the NICs send and copy the sum back.
//
//   steps   up the switches and down again, whatever the number of nodes; inside as below
//   bytes   between nodes: S/R up and S/R down over each NIC's cable and each link of rail r's switch tree
//           inside, CollNetDirect: each member sends S/m to each other one twice (reduce-scatter, all-gather)
//           inside, CollNetChain: chains as in tree.h
//
// The tree of a rail: shortest paths from the NICs to a root switch, the one nearest to the farthest NIC; equally near
// ones take turns by rail. A switch sends one sum up however many children it has.
// Source: Graham et al. 2016, "Scalable hierarchical aggregation protocol (SHArP)".
#pragma once

#include "simulator/collective/algorithms/collective_flows.h"

namespace trainyard::simulator {

void add_collnet_direct(FlowWriter& writer, const GroupLayout& layout, double size);
void add_collnet_chain(FlowWriter& writer, const GroupLayout& layout, double size);

// The switch trees of all rails, and the way between each head and its NIC. Throws Error where the NICs of a rail
// have no switch in common.
void add_switch_trees(FlowWriter& writer, const GroupLayout& layout, double size);

}  // namespace trainyard::simulator
