#include "simulator/fabric/flow.h"

#include "core/error.h"

namespace trainyard::simulator {

void FlowSet::reserve(std::size_t flows, std::size_t arc_uses) {
  flows_.reserve(flows);
  path_of_.reserve(flows);
  uses_.reserve(arc_uses);
  paths_.reserve(3 * flows);
  path_first_.reserve(flows + 1);
  path_bytes_.reserve(flows);
  leg_first_.reserve(flows + 1);
  latency_.reserve(flows);
}

LegId FlowSet::add_leg(std::span<const ArcUse> uses, Seconds latency) {
  uses_.insert(uses_.end(), uses.begin(), uses.end());
  leg_first_.push_back(static_cast<std::uint32_t>(uses_.size()));
  latency_.push_back(latency);
  return LegId(static_cast<std::int64_t>(legs()) - 1);
}

void FlowSet::add(const Flow& flow, std::span<const LegUse> path) {
  paths_.insert(paths_.end(), path.begin(), path.end());
  path_first_.push_back(static_cast<std::uint32_t>(paths_.size()));
  path_bytes_.emplace_back();
  add_on_last_path(flow);
}

void FlowSet::add_on_last_path(const Flow& flow) {
  check(paths() > 0, "a flow on the last path before there is one");
  path_of_.push_back(static_cast<std::uint32_t>(paths() - 1));
  path_bytes_.back() += flow.bytes;
  flows_.push_back(flow);
}

std::vector<ArcUse> FlowSet::uses_of_flow(std::size_t flow) const {
  std::vector<ArcUse> all;
  for (const LegUse& leg : path(path_of(flow))) {
    for (const ArcUse& use : uses(leg.leg)) {
      all.push_back({use.arc, use.cable, use.weight * leg.share});
    }
  }
  return all;
}

Seconds FlowSet::latency_of_flow(std::size_t flow) const {
  Seconds sum;
  for (const LegUse& leg : path(path_of(flow))) {
    // Sprayed over two planes the legs of one plane are as long as those of the other: halves of each.
    sum += leg.share * latency(leg.leg);
  }
  return sum;
}

}  // namespace trainyard::simulator
