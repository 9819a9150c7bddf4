// Kernel times from an accelerator's published numbers; equations in kernel_cost.h.
#pragma once

#include "simulator/compute/kernel_cost.h"

namespace trainyard::simulator {

class AnalyticKernels final : public KernelCost {
 public:
  explicit AnalyticKernels(Accelerator accelerator);
  Seconds time(const Operation& operation) const override;

 private:
  Seconds memory_time(const Operation& operation) const;
  Accelerator accelerator_;
};

}  // namespace trainyard::simulator
