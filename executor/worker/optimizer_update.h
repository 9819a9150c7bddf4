// GradientNorm and Optimizer instructions.
//
// A rank's share of a bucket is [boundaries[d], boundaries[d+1]) for its data-parallel index d. It sums the
// squares of that share, whether or not ZeRO shards anything; tensors that all tensor-parallel ranks hold
// count on index 0 only. The optimizer updates the share under ZeRO, all of the bucket without.
#pragma once

#include "core/plan/plan.h"
#include "executor/worker/segment_binding.h"

namespace trainyard::executor {

Action bind_gradient_norm(const BindingContext& context, const Instruction& instruction);

// clip_scale: one float of device memory, written and read by each update.
Action bind_optimizer(const BindingContext& context, const Instruction& instruction, const Plan& plan,
                      float* clip_scale);

// AdamW's numbers for a step: bias corrections 1 - beta^(updates + 1).
AdamW adamw_options(const Training& training, const StepSettings& settings, bool decay);

}  // namespace trainyard::executor
