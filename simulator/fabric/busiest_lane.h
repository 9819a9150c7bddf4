// The busiest lane: when the last of many equal flows ends, without following their rates.
//
//   T = max over lanes of  bytes across the lane / its capacity
//
// for commodities (flows, or coupled groups by their largest flow) with as many bytes for their weight, b / w, each,
// and no caps. At the start the lowest level of max-min fairness is min over lanes of capacity / sum of weight, that of
// the busiest lane, whose commodities end at T. As commodities end that minimum only rises, so that no other ends
// later.
#pragma once

#include <optional>

#include "simulator/fabric/fair_share.h"
#include "simulator/fabric/flow.h"
#include "simulator/fabric/lanes.h"

namespace trainyard::simulator {

// As last_to_end() gives. Nothing where flows are unequal or capped. Cost: O(links used).
std::optional<LastFlow> last_by_busiest_lane(const Lanes& lanes, const FlowSet& flows);

}  // namespace trainyard::simulator
