// What AdamW's kernels multiply by, of its options: divisions by the bias corrections are taken once.
#pragma once

#include "executor/device/device.h"
#include "executor/kernel/optimizer.h"

namespace trainyard::executor {

inline AdamWFactors adamw_factors(const AdamW& options) {
  return {options.learning_rate,
          options.beta1,
          options.beta2,
          options.epsilon,
          options.weight_decay,
          1.0f / options.bias_correction1,
          1.0f / options.bias_correction2};
}

}  // namespace trainyard::executor
