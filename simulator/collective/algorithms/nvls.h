// NVLS (NVLink SHARP): the NVSwitch adds up what the GPUs send and copies the sum to all. NVLS-tree: the same inside
// each node, a double tree between nodes.
//
//   steps   1 inside; NVLS-tree 2 log2 N more
//   bytes   over each GPU's links, each way, m members in the node:
//           all-reduce      S (1 + 1/m): every GPU's buffer goes up once, the sums come down to the 1/m that each GPU
//                           is in charge of, go up again, and down to all
//           all-gather      up S/m, down S (m-1)/m         reduce-scatter      up S (m-1)/m, down S/m
//           NVLS-tree: between nodes, for each rail r of R, S/R through a double tree (tree.h)
//
// Source: NVIDIA, "NVLink SHARP" in NCCL 2.17 (2023); the law is checked in docs/cost_model.md.
#pragma once

#include "simulator/collective/algorithms/collective_flows.h"

namespace trainyard::simulator {

void add_nvls(FlowWriter& writer, CollectiveOp op, const GroupLayout& layout, double size);
void add_nvls_tree(FlowWriter& writer, const GroupLayout& layout, double size);

// Inside each node only.
void add_nvls_inside(FlowWriter& writer, CollectiveOp op, const GroupLayout& layout, double size);

}  // namespace trainyard::simulator
