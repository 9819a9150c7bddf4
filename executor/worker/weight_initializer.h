// Initial weights, a function of (seed, parameter's name, global index): every layout starts from the same.
//
//   norms 1; biases 0; all others normal(0, s), s = initial_std; output and down products s / sqrt(2 layers), so that
//   the residual stream's variance doesn't grow with depth (Radford et al. 2019, section 2.3)
#pragma once

#include "core/plan/plan.h"
#include "executor/worker/tensor_slice.h"

namespace trainyard::executor {

WeightSource random_weights(const ModelSpec& model, const Training& training);

}  // namespace trainyard::executor
