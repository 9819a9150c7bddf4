// Commodities: what moves at one rate. A flow; flows on one path alike in all that matters; or a coupled group.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/fabric/flow.h"

namespace trainyard::simulator {

struct Commodities {
  // By commodity. Of a group, those of its largest flow; its cap is the least of cap / part over its flows.
  std::vector<double> weight;
  std::vector<double> rate_cap;
  std::vector<double> bytes;
  std::vector<std::uint32_t> first = {0};  // into legs
  std::vector<LegUse> legs;                // share: bytes through the leg per byte of the commodity, all its flows
  // By flow.
  std::vector<std::uint32_t> of_flow;
  std::vector<double> part;

  std::size_t size() const { return weight.size(); }
  std::span<const LegUse> legs_of(std::size_t i) const { return {legs.data() + first[i], legs.data() + first[i + 1]}; }
};

Commodities commodities_of(const FlowSet& flows);

}  // namespace trainyard::simulator
