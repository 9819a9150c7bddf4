// Memory of a step's outline: the same by cause and total as memory_estimate.h gives of the whole program.
#pragma once

#include <optional>
#include <vector>

#include "core/plan/device_profile.h"
#include "core/plan/infeasible.h"
#include "core/program/outline.h"
#include "simulator/memory/memory_estimate.h"

namespace trainyard::simulator {

// By role.
std::vector<RoleMemory> outline_memory(const ProgramOutline& outline, const DeviceProfile& profile);

// Nothing where all ranks fit.
std::optional<Infeasible> exceeds_memory(const ProgramOutline& outline, const DeviceProfile& profile);

}  // namespace trainyard::simulator
