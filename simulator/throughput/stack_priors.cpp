#include "simulator/throughput/stack_priors.h"

namespace trainyard::simulator {

namespace {

// In the order of StackConstant.
constexpr StackPriors kPriors = {{
    {0.80, 0.15, 0.06, 0.10, 0.2, 0.88},      // gemm
    {0.92, 0.20, 0.08, 0.14, 0.4, 1.3},       // low precision
    {60.0, 0.40, 0.20, 0.25, 1.0, 1000.0},    // gemm depth
    {20e-6, 0.70, 0.30, 0.60, 1e-7, 1e-3},    // gemm overhead
    {1.0, 0.20, 0.10, 0.15, 0.2, 3.0},        // attention
    {0.85, 0.15, 0.10, 0.15, 0.2, 1.0},       // memory
    {5.5, 0.35, 0.15, 0.20, 0.5, 40.0},       // cast bytes
    {0.25e-3, 0.80, 0.30, 0.60, 1e-6, 1e-2},  // host
    {1.10, 0.25, 0.10, 0.30, 0.5, 4.0},       // communication
    {15e-6, 0.70, 0.30, 0.40, 1e-7, 1e-3},    // skew
    {0.65, 0.30, 0.15, 0.25, 0.05, 0.98},     // overlap
    {14.0, 0.60, 0.40, 0.80, 1.0, 200.0},     // token bytes
}};

// One kernel per operation: more launches, and slower hosts in those years.
constexpr double kEagerMemory = 0.65;
constexpr double kEagerHost = 0.6e-3;
constexpr double kEagerGemmOverhead = 45e-6;

}  // namespace

StackPriors default_stack_priors(bool fused) {
  StackPriors priors = kPriors;
  if (!fused) {
    priors.at(static_cast<std::size_t>(StackConstant::kMemory)).value = kEagerMemory;
    priors.at(static_cast<std::size_t>(StackConstant::kHost)).value = kEagerHost;
    priors.at(static_cast<std::size_t>(StackConstant::kGemmOverhead)).value = kEagerGemmOverhead;
  }
  return priors;
}

}  // namespace trainyard::simulator
