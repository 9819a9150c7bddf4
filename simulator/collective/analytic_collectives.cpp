#include "simulator/collective/analytic_collectives.h"

#include <algorithm>
#include <utility>

namespace trainyard::simulator {

AnalyticCollectives::AnalyticCollectives(AnalyticProfile profile) : profile_(std::move(profile)) {}

AnalyticCollectives::Level AnalyticCollectives::node() const {
  const Accelerator& accelerator = profile_.accelerator;
  return {accelerator.intra_node_bandwidth.value * accelerator.efficiency.intra_node.value,
          accelerator.intra_node_latency.value};
}

AnalyticCollectives::Level AnalyticCollectives::network() const {
  return {profile_.fabric.nic_bandwidth.value * profile_.accelerator.efficiency.inter_node.value,
          profile_.fabric.nic_latency.value};
}

// A reduce-scatter or an all-gather, without the overhead of the call.
Seconds AnalyticCollectives::half(Bytes payload, GroupPlacement placement) const {
  const double members = placement.size;
  const double local = std::clamp(placement.per_node, 1, placement.size);
  const double nodes = members / local;
  Seconds time;
  if (local > 1.0) {
    time += payload * ((local - 1.0) / local) / node().bandwidth + (local - 1.0) * node().latency;
  }
  if (nodes > 1.0) {
    time += payload / local * ((nodes - 1.0) / nodes) / network().bandwidth + (nodes - 1.0) * network().latency;
  }
  return time;
}

Seconds AnalyticCollectives::time(CommunicationKind kind, CollectiveAlgorithm algorithm, ByteCount payload,
                                  GroupPlacement placement) const {
  const Seconds overhead = profile_.accelerator.collective_overhead.value;
  const Bytes bytes = payload.quantity();
  const bool transfer = kind == CommunicationKind::kSend || kind == CommunicationKind::kRecv;
  if (!transfer && placement.size <= 1) {
    return Seconds();
  }
  if (!transfer && algorithm == CollectiveAlgorithm::kRing) {
    const double halves = kind == CommunicationKind::kAllReduce ? 2.0 : 1.0;
    return overhead + halves * half(bytes, placement);
  }
  const bool one_node = transfer ? placement.per_node > 1 : placement.per_node >= placement.size;
  const Level level = one_node ? node() : network();
  return overhead + dependent_steps(kind, algorithm, placement.size) * level.latency +
         wire_factor(kind, algorithm, placement.size) * bytes / level.bandwidth;
}

OverlapSlowdown AnalyticCollectives::overlap(int group_size) const { return {group_size, 1.0, 1.0}; }

}  // namespace trainyard::simulator
