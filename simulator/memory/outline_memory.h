// Memory of a step's outline: whether it fits, from what its roles hold; what holds it is worked out of one role only
// where it doesn't. The same totals and words as memory_estimate.h gives of the whole program.
#pragma once

#include <optional>

#include "core/plan/device_profile.h"
#include "core/plan/infeasible.h"
#include "core/plan/plan.h"
#include "core/program/outline.h"

namespace trainyard::simulator {

// outline: of this plan. Nothing where all ranks fit.
std::optional<Infeasible> exceeds_memory(const ProgramOutline& outline, const Plan& plan, const DeviceProfile& profile);

}  // namespace trainyard::simulator
