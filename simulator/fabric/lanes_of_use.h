// The lanes that one use of an arc fills: its cable, or all of the arc's lanes alike.
#pragma once

#include <cstddef>

#include "simulator/fabric/flow.h"
#include "simulator/fabric/lanes.h"

namespace trainyard::simulator {

// Calls visit(lane, weight): bytes across the lane per byte of the leg.
template <class Visit>
void for_each_lane(const Lanes& lanes, const ArcUse& use, const Visit& visit) {
  const std::size_t first = lanes.first(use.arc);
  if (use.cable >= 0) {
    visit(first + static_cast<std::size_t>(use.cable), use.weight);
    return;
  }
  const std::size_t count = lanes.count(use.arc);
  for (std::size_t lane = first; lane < first + count; ++lane) {
    visit(lane, use.weight / static_cast<double>(count));
  }
}

}  // namespace trainyard::simulator
