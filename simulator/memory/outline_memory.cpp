#include "simulator/memory/outline_memory.h"

#include "simulator/step/step_costs.h"

namespace trainyard::simulator {

std::vector<RoleMemory> outline_memory(const ProgramOutline& outline, const DeviceProfile& profile) {
  const ByteCount runtime = runtime_memory(outline.frame.mesh, profile);
  std::vector<RoleMemory> memory;
  for (const RoleOutline& role : outline.roles) {
    RoleMemory& made = memory.emplace_back();
    made.role = role.role.id;
    made.stage = role.role.stage;
    made.representative = role.role.representative;
    made.by_cause = role.peak_by_cause;
    const ByteCount held = role.arena_bytes + role.persistent_bytes;
    made.by_cause[static_cast<std::size_t>(MemoryCause::kFragmentation)] = held - role.peak;
    made.by_cause[static_cast<std::size_t>(MemoryCause::kRuntime)] = runtime;
    made.total = held + runtime;
  }
  return memory;
}

std::optional<Infeasible> exceeds_memory(const ProgramOutline& outline, const DeviceProfile& profile) {
  return exceeds_memory(outline_memory(outline, profile), profile, ranks_per_node(profile, outline.frame.mesh.ranks()));
}

}  // namespace trainyard::simulator
