#include "simulator/compute/analytic_kernels.h"

#include <utility>

namespace trainyard::simulator {

AnalyticKernels::AnalyticKernels(Accelerator accelerator) : accelerator_(std::move(accelerator)) {}

Seconds AnalyticKernels::memory_time(const Operation& operation) const {
  return bytes_moved(operation).quantity() /
         (accelerator_.memory_bandwidth.value * accelerator_.efficiency.memory.value);
}

Seconds AnalyticKernels::time(const Operation& operation) const {
  const KernelEfficiency& efficiency = accelerator_.efficiency;
  if (const Gemm* gemm = std::get_if<Gemm>(&operation)) {
    if (gemm->batch == 0 || gemm->m == 0 || gemm->n == 0 || gemm->k == 0) {
      return Seconds();
    }
    const FlopsPerSecond rate = accelerator_.peak(gemm->type) * efficiency.gemm.value;
    const double depth_loss = 1.0 + efficiency.gemm_k0.value / static_cast<double>(gemm->k);
    return max(flops(operation).quantity() / rate * depth_loss, memory_time(operation)) +
           efficiency.gemm_overhead.value;
  }
  if (const Attention* attention = std::get_if<Attention>(&operation)) {
    const FlopsPerSecond rate = accelerator_.peak(attention->type) * efficiency.attention.value;
    return max(flops(operation).quantity() / rate, memory_time(operation));
  }
  return memory_time(operation);
}

}  // namespace trainyard::simulator
