// Capabilities: what an executor can run today. A plan outside it can be simulated and exported.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/layout/layout.h"
#include "core/model/model_spec.h"
#include "core/plan/infeasible.h"

namespace trainyard {

struct Capabilities {
  std::string device;  // "cpu"
  std::vector<DataType> compute_types;
  std::vector<ScheduleKind> schedules;
  std::vector<Recompute> recompute;
  int highest_zero_stage = 0;
  bool tensor_parallel = false;
  bool sequence_parallel = false;
  bool pipeline_parallel = false;
  bool context_parallel = false;
  bool expert_parallel = false;
  bool interleaved = false;
  bool tied_embeddings_across_stages = false;
  bool gpt2_blocks = false;  // beside Llama's
  std::int64_t max_ranks = 1;
};

// Nothing, or the first thing that stands in the way.
std::optional<Infeasible> why_not(const Capabilities& capabilities, const ModelSpec& model, const Layout& layout);

}  // namespace trainyard
