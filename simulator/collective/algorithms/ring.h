// Ring: each rank sends to the next one and receives from the one before, in chunks.
//
//   steps   all-reduce 2(n-1); all-gather, reduce-scatter n-1; broadcast, reduce n-1
//   bytes   over each hop: all-reduce 2 S (n-1)/n; all-gather, reduce-scatter S (n-1)/n; broadcast, reduce S
//
// Across nodes there is a ring for each rail r of R, with S/R each: into a node by NIC r to its head, round the
// members, and out by NIC r again (over NVLink to the head first, PXN), or by the last member's own NIC where rings may
// cross. Nodes follow each other in rank order. The first rank is the root: a broadcast leaves out the hop into it, a
// reduce the hop out of it.
// Source: Patarasuk and Yuan 2009; NCCL 2.30 src/graph/rings.cc (rank order), transport/net.cc (PXN).
#pragma once

#include "simulator/collective/algorithms/collective_flows.h"

namespace trainyard::simulator {

void add_ring(FlowWriter& writer, CollectiveOp op, const GroupLayout& layout, double size);

// Members of a node round a ring, `bytes` over every hop of a closed ring.
void add_ring_inside(FlowWriter& writer, const NodePart& node, double bytes);

// Bytes over each hop, of a buffer of `size`.
double ring_bytes(CollectiveOp op, std::size_t ranks, double size);

}  // namespace trainyard::simulator
