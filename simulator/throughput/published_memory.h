// Predicted memory of published runs against the peaks that their sources report, and whether what ran is said to fit.
//
//   error    predicted / measured - 1; as the source reports: tensors, or the whole process
//   refused  runs whose layout is said to need more than the runtime reports of the GPU; each did run
// Workload, layout and machine are those that throughput is predicted with (throughput_case.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/units/count.h"
#include "simulator/throughput/throughput_case.h"

namespace trainyard::simulator {

struct MemoryScore {
  std::size_t row = 0;  // of the cases
  std::string id;
  std::string layout;
  ByteCount predicted;                // as the source measures it; where all that memory depends on is stated
  std::optional<ByteCount> measured;  // the peak
  bool complete = true;               // micro-batch, chunks and recomputation are stated
  ByteCount least;                    // in all, of the layouts the row may mean
  ByteCount capacity;                 // of the GPU
  bool scored() const { return measured && complete; }
  double error() const;  // of a scored one
  bool refused() const { return least > capacity; }
};

struct MemorySummary {
  int rows = 0;  // scored
  double mean = 0.0;
  double bias = 0.0;
  double max = 0.0;
  int ran = 0;
  int refused = 0;
};

// Of the cases that can be priced and aren't excluded.
std::vector<MemoryScore> score_memory(const std::vector<ThroughputCase>& cases);
MemorySummary summarise_memory(const std::vector<MemoryScore>& scores);

}  // namespace trainyard::simulator
