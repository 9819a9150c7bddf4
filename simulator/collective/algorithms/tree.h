// Tree: a double binary tree over the nodes, a chain over the members of each.
//
//   steps   2 log2 N between nodes, 2 (m-1) inside (m members of a node)
//   bytes   all-reduce: over each link of a tree S/(2R) up and as much down, for each rail r of R and both trees; over
//           each link of a chain S/R up and as much down
//
// The head of a rail is the top of its chain: it talks to the heads of other nodes by NIC r.
// Source: NVIDIA, "Massively scale your deep learning training with NCCL 2.4" (2019); double_tree.h.
#pragma once

#include "simulator/collective/algorithms/collective_flows.h"

namespace trainyard::simulator {

void add_tree(FlowWriter& writer, const GroupLayout& layout, double size);

// Chains of all rails inside a node, `bytes` each way over each link, of all rails together.
void add_chains(FlowWriter& writer, const GroupLayout& layout, const NodePart& node, double bytes);

// One member of each node, by its position, joined by a double tree; `size` through it.
struct TreeEnd {
  VertexId gpu;
  VertexId nic;
};
void add_double_tree(FlowWriter& writer, const std::vector<TreeEnd>& ends, double size, std::int32_t channel);

}  // namespace trainyard::simulator
