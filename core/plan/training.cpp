#include "core/plan/training.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace trainyard {

std::string_view to_string(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::kAdamW:
      return "adamw";
    case OptimizerKind::kSgd:
      return "sgd";
  }
  return "?";
}

double learning_rate_at(const Training& training, std::int64_t step) {
  if (step < training.warmup_steps) {
    return training.learning_rate * static_cast<double>(step + 1) / static_cast<double>(training.warmup_steps);
  }
  const std::int64_t decay = std::max<std::int64_t>(1, training.steps - training.warmup_steps);
  const double progress = std::min(1.0, static_cast<double>(step - training.warmup_steps) / static_cast<double>(decay));
  const double minimum = training.minimum_rate_ratio * training.learning_rate;
  return minimum + 0.5 * (training.learning_rate - minimum) * (1.0 + std::cos(std::numbers::pi * progress));
}

}  // namespace trainyard
