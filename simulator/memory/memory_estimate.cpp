#include "simulator/memory/memory_estimate.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/units/format_quantity.h"
#include "simulator/memory/communicator_memory.h"
#include "simulator/step/step_costs.h"

namespace trainyard::simulator {
namespace {

double gibibytes(ByteCount bytes) { return static_cast<double>(bytes.value()) / 0x1p30; }

MemoryCause largest_cause(const RoleMemory& memory) {
  const auto largest = std::max_element(memory.by_cause.begin(), memory.by_cause.end());
  return static_cast<MemoryCause>(largest - memory.by_cause.begin());
}

}  // namespace

ByteCount runtime_memory(const DeviceProfile& profile, std::int64_t ranks_at_once) {
  if (const MeasuredProfile* measured = profile.measured()) {
    return measured->at(static_cast<int>(ranks_at_once)).process_baseline;
  }
  return profile.analytic()->accelerator.runtime_memory.value;
}

ByteCount runtime_memory(const Mesh& mesh, const DeviceProfile& profile) {
  const ByteCount usual = runtime_memory(profile, ranks_per_node(profile, mesh.ranks()));
  if (profile.measured() != nullptr) {
    return usual;
  }
  const double more = (communicators(mesh) - kUsualCommunicators) * kCommunicatorBytes;
  return ByteCount(std::max<std::int64_t>(0, usual.value() + static_cast<std::int64_t>(more)));
}

RoleMemory estimate_memory(const Role& role, const Mesh& mesh, const DeviceProfile& profile) {
  const ByteCount runtime = runtime_memory(mesh, profile);
  const MemoryProfile live = memory_profile(role);
  RoleMemory memory;
  memory.role = role.id;
  memory.stage = role.stage;
  memory.representative = role.representative;
  memory.by_cause = live.peak_by_cause;
  memory.by_cause[static_cast<std::size_t>(MemoryCause::kFragmentation)] =
      role.arena_bytes + role.persistent_bytes - live.peak;
  memory.by_cause[static_cast<std::size_t>(MemoryCause::kRuntime)] = runtime;
  memory.total = role.arena_bytes + role.persistent_bytes + runtime;
  return memory;
}

std::vector<RoleMemory> estimate_memory(const Program& program, const DeviceProfile& profile) {
  std::vector<RoleMemory> result;
  for (const Role& role : program.roles) {
    result.push_back(estimate_memory(role, program.mesh, profile));
  }
  return result;
}

const RoleMemory& worst(const std::vector<RoleMemory>& memory) {
  check(!memory.empty(), "a program has a role");
  return *std::max_element(memory.begin(), memory.end(),
                           [](const RoleMemory& a, const RoleMemory& b) { return a.total < b.total; });
}

std::optional<Infeasible> exceeds_memory(const std::vector<RoleMemory>& memory, const DeviceProfile& profile,
                                         std::int64_t ranks_at_once) {
  const ByteCount available = memory_per_rank(profile, ranks_at_once);
  const RoleMemory& most = worst(memory);
  if (most.total <= available) {
    return std::nullopt;
  }
  const MemoryCause cause = largest_cause(most);
  Infeasible infeasible;
  infeasible.reason = InfeasibleReason::kMemory;
  infeasible.detail = fmt::format(
      "stage {} (rank {}) needs {:.1f} GiB of {:.1f} GiB, {} too much; most of it, {:.1f} GiB, for {}", most.stage,
      most.representative.value(), gibibytes(most.total), gibibytes(available), format_quantity(most.total - available),
      gibibytes(most.by_cause[static_cast<std::size_t>(cause)]), to_string(cause));
  infeasible.needed = most.total;
  infeasible.available = available;
  return infeasible;
}

}  // namespace trainyard::simulator
