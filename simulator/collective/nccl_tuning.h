// NCCL's own prediction of a collective's time, by algorithm and protocol: what it chooses by, not what happens.
//
//   time = latency + bytes / algbw;  the pair with the least time runs
//   bus = channels x speed (in the node for N <= 2, between nodes above), then by algorithm and protocol:
//     Ring      LL min(cap, x .5), LL128 min(x .92, channels x cap), Simple x 1
//     Tree      x .92, at most channels x cap; LL / 3.8; LL128 x 7/9 in a node, x 120/128 between nodes
//     NVLS      speed x heads x eff x (heads - 1)/heads x 2 (all-reduce), heads = GPUs of the node
//     NVLSTree  min(NVLS, between nodes x (2 if N = 2), channels x cap);  PAT x .75;  CollNetDirect / GPUs per NIC
//   algbw = bus n / steps for Ring, NVLS, NVLSTree, PAT; bus / 2 for the other all-reduces
//   latency, Ring: base + (steps - x) max(intra, overhead) + x inter,  x = 2(N-1) all-reduce, N-1 gather and scatter
//            Tree: base + 2 ((ppn-1) intra + log2 N inter);   NVLSTree: intra + 2 log2 N inter;   NVLS: intra (+ inter)
// The search over the node's graph is replaced by its usual outcome (graph_of()): the most channels times speed, from
// NCCL's list of speeds, that the links carry. O(n) against O(log n) is in the latencies.
// Source: NVIDIA/nccl 2.30.7 (commit 5067397) src/graph/tuning.cc, search.cc, topo.h, enqueue.cc.
#pragma once

#include <optional>
#include <vector>

#include "simulator/collective/collective_site.h"
#include "simulator/collective/link_facts.h"
#include "simulator/collective/nccl_names.h"

namespace trainyard::simulator {

// Outcome of the search for one pattern: channels and each one's speed, in bytes a second.
struct NcclGraph {
  int channels = 0;
  double intra = 0.0;
  double inter = 0.0;
};
NcclGraph ring_graph(const CollectiveSite& site, const LinkFacts& facts);
// NVLS: a head a GPU; `channels` are heads.
NcclGraph nvls_graph(const CollectiveSite& site, const LinkFacts& facts);

struct NcclEstimate {
  NcclAlgorithm algorithm = NcclAlgorithm::kRing;
  NcclProtocol protocol = NcclProtocol::kSimple;
  int channels = 0;      // that this size is spread over
  Seconds latency;       // at no size
  BytesPerSecond algbw;  // size / time at infinite size
  Seconds time;
};

// Every pair NCCL would consider, in the order of possible_algorithms() and LL, LL128, Simple. All-to-all and
// send/receive, which NCCL doesn't tune: empty.
std::vector<NcclEstimate> nccl_estimates(const CollectiveSite& site, CollectiveOp op, Bytes size,
                                         const LinkFacts& facts);

// The one it runs: the least time; the first among equals. Over more than two NVLink domains from 512 MiB on it is the
// fastest ring: the tables as given here would say tree, but NCCL 2.26 and 2.27 run rings there (NVIDIA/nccl#2035:
// ring by default, a forced tree 23 % faster; coreweave/nccl-tests README.md: 1,440 GB200 follow a ring's times).
std::optional<std::size_t> nccl_choice(const CollectiveSite& site, Bytes size,
                                       const std::vector<NcclEstimate>& estimates);

}  // namespace trainyard::simulator
