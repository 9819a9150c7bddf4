#include "simulator/compute/kernel_cost.h"

#include "simulator/compute/analytic_kernels.h"
#include "simulator/compute/measured_kernels.h"

namespace trainyard::simulator {

Seconds KernelCost::time(const std::vector<Operation>& operations) const {
  Seconds sum;
  for (const Operation& operation : operations) {
    sum += time(operation);
  }
  return sum;
}

std::unique_ptr<const KernelCost> kernel_cost(const DeviceProfile& profile, std::int64_t ranks_at_once) {
  if (const MeasuredProfile* measured = profile.measured()) {
    return std::make_unique<MeasuredKernels>(measured->at(static_cast<int>(ranks_at_once)), profile.name);
  }
  return std::make_unique<AnalyticKernels>(profile.analytic()->accelerator);
}

}  // namespace trainyard::simulator
