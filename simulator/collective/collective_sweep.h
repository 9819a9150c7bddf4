// A collective over a range of sizes, as a benchmark would run it: by NCCL's choice of algorithm and protocol at each
// size, by one algorithm, or by all of them.
//
// NCCL chooses by its own tables (nccl_tuning.h), which end at the NIC; the price is by curves and flows
// (flow_price.h). A protocol that isn't the algorithm's best costs as much more as NCCL's tables say.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "simulator/collective/flow_price.h"

namespace trainyard::simulator {

struct SweepChoice {
  bool all = false;                        // every algorithm at every size
  std::optional<FlowAlgorithm> algorithm;  // this one; absent: NCCL's choice
  std::optional<NcclProtocol> protocol;
};

struct SweepRow {
  CollectivePrice price;
  std::optional<NcclProtocol> protocol;          // absent where NCCL has none for it
  bool nccl_choice = false;                      // what NCCL runs at this size
  FlowAlgorithm fastest = FlowAlgorithm::kRing;  // of all at this size; with the protocol that suits it
  Seconds fastest_time;
};

// Sizes in order, algorithms within. Throws Error for an algorithm that can't serve, or a protocol it hasn't.
std::vector<SweepRow> sweep(CollectivePricer& pricer, const CollectiveModels& models, std::span<const Bytes> sizes,
                            const SweepChoice& choice);

// What NCCL runs at a size by its own tables, where that is one of `possible`; else the first of them. All-to-all and
// send/receive, which it doesn't tune: direct.
FlowAlgorithm nccls_choice(const CollectiveSite& site, CollectiveOp op, Bytes size,
                           std::span<const FlowAlgorithm> possible, const LinkFacts& facts);

// InfiniBand's switches route adaptively, Ethernet's hash: by the cluster's congestion control.
RoutingKind default_routing(const Cluster& cluster);

}  // namespace trainyard::simulator
