// Layouts priced with the time that their steps wait for data (input_feed.h), as the loss "input".
#pragma once

#include "simulator/planner/layout_pricer.h"
#include "simulator/planner/search_machine.h"
#include "simulator/step/input_feed.h"

namespace trainyard::simulator {

// The feed stays the same whatever machine a what-if asks about.
MachinePricers fed(MachinePricers machines, const InputFeed& feed);

}  // namespace trainyard::simulator
