// Faults that tests plant in a worker, to show that the layout comparison catches such bugs.
#pragma once

#include <cstdint>

#include "executor/worker/segment_binding.h"

namespace trainyard::executor {

enum class Fault : std::uint8_t {
  kNone,
  kScaleGradient,         // layer 0's gate projection: its gradient times 1.01
  kSkipNormReduce,        // layer 0's mlp norm: its gradient left out of the data-parallel reduction
  kWrongLossDenominator,  // the last token of each sequence not counted
};

// Gradient's factor applied before this GradientNorm instruction; empty where it doesn't concern it.
Action scale_gradient(const BindingContext& context, const Instruction& gradient_norm);

// Wraps a data-parallel gradient reduction: the norm's local gradient is put back after it.
Action keep_norm_gradient(const BindingContext& context, const Instruction& reduce, Action action);

}  // namespace trainyard::executor
