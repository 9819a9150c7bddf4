// StepCosts: a program's instructions with times on them; what the step simulator interprets.
//
// Pricing and interpreting are apart, so that one cost can be changed (a planted error, a slow link) without
// touching the other.
#pragma once

#include <vector>

#include "core/plan/device_profile.h"
#include "core/plan/plan.h"
#include "core/program/outline.h"
#include "core/program/program.h"
#include "core/units/quantity.h"
#include "simulator/collective/collective_cost.h"
#include "simulator/compute/kernel_cost.h"
#include "simulator/step/communication_cost.h"
#include "simulator/throughput/machine.h"

namespace trainyard::simulator {

struct StepCosts {
  // By role, by instruction: its operations on an otherwise idle rank, or its data's movement once every
  // member has come. Without overhead.
  std::vector<std::vector<Nanoseconds>> work;
  Nanoseconds instruction_overhead = 0;  // before each instruction's work, on its stream
  Nanoseconds stream_handover = 0;       // from an instruction's end to one on another stream that waited
  std::vector<OverlapSlowdown> overlap;  // by GroupId, for communications in that group
};

// The same of an outline: by role, by example.
struct OutlineCosts {
  std::vector<std::vector<Nanoseconds>> work;
  std::vector<OverlapSlowdown> overlap;  // by GroupId
};

// ranks_per_node: how many ranks of the job share a machine (all of them for a measured profile).
std::int64_t ranks_per_node(const DeviceProfile& profile, std::int64_t ranks);

// Where the members of `rank`'s group lie. For a transfer: the two ends.
GroupPlacement placement(const Program& program, const Group& group, Rank rank, std::int64_t per_node);

StepCosts price(const Program& program, const KernelCost& kernels, const CollectiveCost& collectives,
                const DeviceProfile& profile);

// Communication by its groups' shapes on nodes of so many ranks.
StepCosts price(const Program& program, const KernelCost& kernels, const GroupCost& groups,
                std::int64_t ranks_per_node);

// All of it under a software stack: kernels and communication as the closed form prices them (simulator/throughput),
// and its habits of overlap as slowdowns of compute beside communication:
//   tensor, expert     compute stands still: what the stack can't hide
//   data               compute at 1/o of its time's rate, o the share of what could be hidden that is hidden
//   others             free: a ring's blocks, stage transfers
StepCosts price_under_stack(const Program& program, const Plan& plan, const Machine& machine, const GroupCost& groups);
OutlineCosts price_under_stack(const ProgramOutline& outline, const Plan& plan, const Machine& machine,
                               const GroupCost& groups);

}  // namespace trainyard::simulator
