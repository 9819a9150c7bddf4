// The flags that say what to train: batch, steps, optimizer. They end up in the plan.
#pragma once

#include <string>

#include "core/plan/training.h"

namespace CLI {
class App;
}

namespace trainyard::cli {

struct TrainingOptions {
  Training training;
  std::string optimizer = "adamw";
  double clip_norm = 1.0;  // 0: off
};

void add_training_options(CLI::App& verb, TrainingOptions& options);

// Throws Error naming the flag whose value makes no sense.
Training training_from(const TrainingOptions& options);

}  // namespace trainyard::cli
