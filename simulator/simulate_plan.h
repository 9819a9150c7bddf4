// simulate_plan: compiles a plan, checks its memory, and interprets its program instruction by instruction.
#pragma once

#include <variant>
#include <vector>

#include "core/plan/device_profile.h"
#include "core/plan/plan.h"
#include "core/program/program.h"
#include "simulator/estimate.h"
#include "simulator/memory/memory_estimate.h"
#include "simulator/step/simulate_step.h"

namespace trainyard::simulator {

struct Simulation {
  Program program;
  StepCosts costs;
  StepResult step;
  std::vector<RoleMemory> memory;  // by role
  Estimate estimate;
};

// The program is kept in the result. Throws Error for a plan that is not consistent or a profile that lacks
// what the program needs.
std::variant<Simulation, Infeasible> simulate_plan(const Plan& plan, const DeviceProfile& profile,
                                                   TraceDetail detail = TraceDetail::kSlices);

// Fills in what follows from the step time: tokens per second, MFU.
void set_step_time(Estimate& estimate, Seconds step_time, const Plan& plan, const DeviceProfile& profile);

}  // namespace trainyard::simulator
