#include "simulator/memory/outline_memory.h"

#include <algorithm>

#include "simulator/memory/memory_estimate.h"
#include "simulator/step/step_costs.h"

namespace trainyard::simulator {

std::optional<Infeasible> exceeds_memory(const ProgramOutline& outline, const Plan& plan,
                                         const DeviceProfile& profile) {
  const auto held = [](const RoleOutline& role) { return role.arena_bytes + role.persistent_bytes; };
  const RoleOutline& most =
      *std::max_element(outline.roles.begin(), outline.roles.end(),
                        [&](const RoleOutline& a, const RoleOutline& b) { return held(a) < held(b); });
  const std::int64_t per_node = ranks_per_node(profile, plan.layout.ranks());
  if (held(most) + runtime_memory(outline.frame.mesh, profile) <= memory_per_rank(profile, per_node)) {
    return std::nullopt;
  }
  Role role = stage_role(plan, most.role.stage);
  role.id = most.role.id;
  role.representative = most.role.representative;
  return exceeds_memory({estimate_memory(role, outline.frame.mesh, profile)}, profile, per_node);
}

}  // namespace trainyard::simulator
