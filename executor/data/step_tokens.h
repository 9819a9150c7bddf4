// StepTokens: the tokens of one step on one data-parallel rank, [microbatches, sequences, sequence]; targets
// are the inputs moved on by one.
#pragma once

#include <cstdint>
#include <vector>

namespace trainyard::executor {

struct StepTokens {
  std::vector<std::int32_t> inputs;
  std::vector<std::int32_t> targets;
};

}  // namespace trainyard::executor
