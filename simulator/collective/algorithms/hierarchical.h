// Hierarchical: reduce-scatter inside each node, all-reduce across nodes on each rail, all-gather inside again.
//
//   steps   all-reduce 2(m-1) inside, 2(N-1) across by rings or 2 log2 N by double trees; the others half of it
//   bytes   inside, over each hop of the members' ring: all-reduce 2 S (m-1)/m; all-gather, reduce-scatter S (m-1)/m
//           across, the 1/m of the buffer that a member is in charge of: ring 2 (S/m) (N-1)/N all-reduce,
//           (S/m) (N-1)/N the others; tree S/(2m) up and down each link of both trees
//
// Member p of a node talks to member p of the others, each by its own NIC. Nodes must have equally many members.
// Source: Mikami et al. 2018, "Massively distributed SGD: ImageNet/ResNet-50 training in a flash" (2D-torus
// all-reduce); PyTorch's hybrid sharding does the same with two process groups.
#pragma once

#include "simulator/collective/algorithms/collective_flows.h"

namespace trainyard::simulator {

void add_hierarchical(FlowWriter& writer, CollectiveOp op, const GroupLayout& layout, double size, bool tree);

}  // namespace trainyard::simulator
