#include "executor/run/cpu_capabilities.h"

namespace trainyard::executor {

Capabilities cpu_capabilities() {
  constexpr std::int64_t kMostLocalRanks = 64;  // processes of one host
  Capabilities capabilities;
  capabilities.device = "cpu";
  capabilities.compute_types = {DataType::kFp32, DataType::kBf16, DataType::kFp16, DataType::kFp8};
  capabilities.schedules = {ScheduleKind::kGpipe, ScheduleKind::k1f1b};
  capabilities.recompute = {Recompute::kNone, Recompute::kFull};
  capabilities.highest_zero_stage = 1;
  capabilities.tensor_parallel = true;
  capabilities.gpt2_blocks = true;
  capabilities.pipeline_parallel = true;
  capabilities.tied_embeddings_across_stages = true;
  capabilities.max_ranks = kMostLocalRanks;
  return capabilities;
}

}  // namespace trainyard::executor
