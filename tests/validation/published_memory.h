// Rows of the published throughput measurements with what their software's habits of memory are.
//
// Workload, layout and machine are those that throughput is predicted with (throughput_case.h).
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "core/units/count.h"
#include "simulator/memory/memory_habits.h"
#include "simulator/throughput/throughput_case.h"

namespace trainyard::testing {

struct PublishedMemory {
  simulator::ThroughputCase run;
  simulator::MemoryHabits habits;
  std::optional<ByteCount> measured;  // the peak, as the source reports it
  bool device_reading = false;        // of the whole process (DeepSpeed's logs), not of tensors
  bool complete = true;               // micro-batch, chunks and recomputation are stated
};

// Rows that can be priced.
std::vector<PublishedMemory> read_published_memory(const std::filesystem::path& file);

}  // namespace trainyard::testing
