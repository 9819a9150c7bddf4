// Memory of a rank at its worst moment of the step, by cause.
//
//   total = arena + persistent + runtime
//   by cause: live buffers at the peak (memory_profile), fragmentation = arena + persistent - peak,
//             runtime = a worker process without buffers (measured) or context, libraries and communicators (published)
//
// The executor allocates exactly arena + persistent bytes, so the total is what it holds, not a bound.
#pragma once

#include <optional>
#include <vector>

#include "core/plan/device_profile.h"
#include "core/plan/infeasible.h"
#include "core/program/program.h"
#include "core/units/count.h"

namespace trainyard::simulator {

struct RoleMemory {
  RoleId role;
  int stage = 0;
  Rank representative;
  std::vector<ByteCount> by_cause = std::vector<ByteCount>(kMemoryCauses);
  ByteCount total;
};

// What a rank's process needs besides the program's buffers.
ByteCount runtime_memory(const DeviceProfile& profile, std::int64_t ranks_at_once);

// Of a job on this mesh: with the communicators that it has where the number is a published one.
ByteCount runtime_memory(const Mesh& mesh, const DeviceProfile& profile);

RoleMemory estimate_memory(const Role& role, const Mesh& mesh, const DeviceProfile& profile);
std::vector<RoleMemory> estimate_memory(const Program& program, const DeviceProfile& profile);

// The role that needs most; the vector isn't empty.
const RoleMemory& worst(const std::vector<RoleMemory>& memory);

// Names rank, stage, and the cause that holds most, with the amounts; nothing where all ranks fit.
std::optional<Infeasible> exceeds_memory(const std::vector<RoleMemory>& memory, const DeviceProfile& profile,
                                         std::int64_t ranks_at_once);

}  // namespace trainyard::simulator
