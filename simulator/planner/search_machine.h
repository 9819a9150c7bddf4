// What a search needs of a machine: costs of communication from measured curves, habits of its software's memory.
#pragma once

#include <functional>
#include <memory>

#include "simulator/collective/group_cost.h"
#include "simulator/memory/memory_habits.h"
#include "simulator/planner/layout_pricer.h"
#include "simulator/throughput/machine.h"
#include "simulator/throughput/step_model.h"

namespace trainyard::simulator {

// How a machine's layouts are priced: made anew for each machine that a what-if asks about.
using MachinePricers = std::function<PricerFactory(const Workload& workload, const Machine& machine)>;

}  // namespace trainyard::simulator
