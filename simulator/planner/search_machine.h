// What a search needs of a machine: its software, costs of communication from measured curves, habits of memory.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/plan/accelerator.h"
#include "core/plan/stack_profile.h"
#include "simulator/collective/collective_site.h"
#include "simulator/collective/group_cost.h"
#include "simulator/memory/memory_habits.h"
#include "simulator/planner/layout_pricer.h"
#include "simulator/throughput/machine.h"
#include "simulator/throughput/step_model.h"

namespace trainyard::simulator {

// How a machine's layouts are priced: made anew for each machine that a what-if asks about.
using MachinePricers = std::function<PricerFactory(const Workload& workload, const Machine& machine)>;

// By StepModel, communication from the shipped curves. `usual`: the machine as it is, against which a what-if's links
// are measured.
MachinePricers curve_pricers(const Machine& usual);

// A node of the machine and its NICs.
CollectiveSite curve_site(const Machine& machine, const Machine& usual);

// Groups on the machine's nodes and NICs, as nccl-tests would measure them there.
std::shared_ptr<const GroupCost> curve_groups(const Machine& machine, const Machine& usual);

// A shipped profile or family of profiles by name; empty: the accelerator's generation with fused kernels. Throws Error
// for a name that isn't known.
StackProfile find_stack(const Accelerator& accelerator, const std::string& name);

MemoryHabits memory_habits(const StackProfile& stack);

}  // namespace trainyard::simulator
