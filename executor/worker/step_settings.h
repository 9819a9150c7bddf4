// StepSettings: the numbers that change from step to step; everything else is bound once.
#pragma once

#include <cstdint>

namespace trainyard::executor {

struct StepSettings {
  std::int64_t step = 0;     // from 0
  double learning_rate = 0;  // of this step
  float loss_scale = 0;      // 1 / tokens of the whole step; 0: loss only, logits are left alone
};

}  // namespace trainyard::executor
