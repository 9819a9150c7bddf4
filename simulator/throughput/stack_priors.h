// What is believed of a stack's constants before any measurement, and how far stacks differ.
#pragma once

#include <array>
#include <string>

#include "core/plan/stack_profile.h"

namespace trainyard::simulator {

struct ConstantPrior {
  double value = 1.0;
  double global = 1.0;  // T: of the log
  double family = 0.2;  // sigma: of a generation about all
  double stack = 0.2;   // tau: of a stack about its family
  double low = 0.0;     // bounds
  double high = 1.0;
};

using StackPriors = std::array<ConstantPrior, kStackConstants>;

StackPriors default_stack_priors(bool fused);

}  // namespace trainyard::simulator
