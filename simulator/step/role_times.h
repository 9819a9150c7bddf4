// RoleTimes: how a role's representative spends a step.
#pragma once

#include <array>

#include "core/program/outline.h"
#include "core/units/quantity.h"
#include "simulator/step/execution.h"

namespace trainyard::simulator {

// busy sums each kind's slices, waiting for peers included.
struct RoleTimes {
  std::array<Nanoseconds, kInstructionKinds> busy{};
  Nanoseconds compute = 0;                // compute stream at work
  Nanoseconds exposed_communication = 0;  // compute idle while data moves
  Nanoseconds waiting = 0;                // compute idle and no data moves: bubble, skew, handover
};

// times: by instruction; duration: of the step.
RoleTimes role_times(const RoleOutline& role, const InstructionTimes* times, Nanoseconds duration);

}  // namespace trainyard::simulator
