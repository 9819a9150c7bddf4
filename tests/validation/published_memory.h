// Rows of the published throughput measurements as workloads and layouts, as far as memory needs them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/layout/layout.h"
#include "core/units/count.h"
#include "simulator/memory/memory_habits.h"
#include "simulator/throughput/step_model.h"

namespace trainyard::testing {

struct PublishedMemory {
  std::string id;
  std::string source;
  simulator::Workload workload;
  Layout layout;
  simulator::MemoryHabits habits;
  ByteCount device;                   // what the GPU has
  std::optional<ByteCount> measured;  // the peak, as the source reports it
  bool device_reading = false;        // of the whole process (DeepSpeed's logs), not of tensors
  bool complete = true;               // micro-batch, chunks and recomputation are stated
};

// Rows whose architecture and degrees are stated.
std::vector<PublishedMemory> read_published_memory(const std::filesystem::path& file);

}  // namespace trainyard::testing
