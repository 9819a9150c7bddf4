// StepCosts: a program's instructions with times on them; what the step simulator interprets.
//
// Pricing and interpreting are apart, so that one cost can be changed (a planted error, a slow link) without
// touching the other.
#pragma once

#include <cstdint>
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
#include "simulator/throughput/step_loss.h"

namespace trainyard::simulator {

// For how long compute stands still at an instruction for something else: part of its work.
struct ComputeWait {
  std::uint32_t instruction = 0;
  StepLoss loss = StepLoss::kHost;
  Nanoseconds time = 0;
};

struct StepCosts {
  // By role, by instruction: its operations on an otherwise idle rank, or its data's movement once every
  // member has come. Without overhead.
  std::vector<std::vector<Nanoseconds>> work;
  Nanoseconds instruction_overhead = 0;         // before each instruction's work, on its stream
  Nanoseconds stream_handover = 0;              // from an instruction's end to one on another stream that waited
  std::vector<OverlapSlowdown> overlap;         // by GroupId, for communications in that group
  std::vector<std::vector<ComputeWait>> waits;  // by role, as far as there are any
};

// The same of an outline: by role, by example.
struct OutlineCosts {
  std::vector<std::vector<Nanoseconds>> work;
  std::vector<OverlapSlowdown> overlap;  // by GroupId
  std::vector<std::vector<ComputeWait>> waits;
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
//   data               both at 1/(2 - o) of their rates, o the share of what could be hidden that is hidden: work a and
//                      communication b take max(a, b) + (1 - o) min(a, b), as in update_time.h
//   pipeline           where stages wait for their transfers (pipeline_time.h), the first and last instruction of a
//   pass
//                      take that longer, and the transfers themselves nothing
//   others             free: a ring's blocks
// Layers wait for their host's launches, transfers are sliced and gathers of updated parameters hidden as it does.
StepCosts price_under_stack(const Program& program, const Plan& plan, const Machine& machine, const GroupCost& groups);
OutlineCosts price_under_stack(const ProgramOutline& outline, const Plan& plan, const Machine& machine,
                               const GroupCost& groups);

}  // namespace trainyard::simulator
