// StepWaterfall: an interpreted step opened into StepLosses, from what the peak would allow to what is reached.
//
//   sum over losses = duration, exactly
//
// Of the role whose compute takes longest. Its work, instruction by instruction, is split by operation: ideal is the
// model's FLOPs over the peak, gemm and attention what their kernels take beyond their own FLOPs at the peak,
// elementwise what moves memory, recompute all of what is run again, optimizer norms and updates. FLOPs that the role
// has beyond the mean rank's are imbalance. Time in which data moves and compute doesn't is the communication's, by its
// group; so is what compute is slowed down by beside it, or stands still for at an instruction. All else is bubble:
// fill, drain, waiting for other stages.
#pragma once

#include "core/plan/plan.h"
#include "simulator/step/outline_execution.h"
#include "simulator/step/step_costs.h"
#include "simulator/throughput/step_loss.h"

namespace trainyard::simulator {

struct StepWaterfall {
  StepLosses losses{};
  RoleId role;               // whose
  Flops hardware_per_token;  // FLOPs that the program computes for a token, recomputation included: HFU's
};

// times: as the outline's execution gives them under these costs. peak: of the compute type.
StepWaterfall waterfall(const ProgramOutline& outline, const Plan& plan, const OutlineCosts& costs,
                        const OutlineTimes& times, const KernelCost& kernels, FlopsPerSecond peak);

// Of a whole program. Kernel times as priced in `costs`, split by `kernels`.
StepWaterfall waterfall(const Program& program, const Plan& plan, const StepCosts& costs, const KernelCost& kernels,
                        FlopsPerSecond peak);

}  // namespace trainyard::simulator
