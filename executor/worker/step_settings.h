// StepSettings: the numbers that change from step to step; everything else is bound once.
#pragma once

#include <cstdint>

#include "executor/kernel/optimizer.h"

namespace trainyard::executor {

struct StepSettings {
  std::int64_t updates = 0;  // of the parameters before this step
  double learning_rate = 0;  // of this step
  // Of each token's loss: gradients.scale / tokens of the whole step; 0: loss only, logits are left alone.
  float loss_scale = 0;
  GradientScale gradients;
};

}  // namespace trainyard::executor
