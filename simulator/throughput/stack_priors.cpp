#include "simulator/throughput/stack_priors.h"

namespace trainyard::simulator {

namespace {

// In the order of StackConstant.
constexpr StackPriors kPriors = {{
    {0.80, 0.15, 0.042, 0.125, 0.2, 0.88},    // gemm
    {0.92, 0.20, 0.056, 0.175, 0.4, 1.3},     // low precision
    {60.0, 0.40, 0.14, 0.31, 1.0, 1000.0},    // gemm depth
    {20e-6, 0.70, 0.21, 0.75, 1e-7, 1e-3},    // gemm overhead
    {1.0, 0.20, 0.07, 0.19, 0.2, 3.0},        // attention
    {0.85, 0.15, 0.07, 0.19, 0.2, 1.0},       // memory
    {5.5, 0.35, 0.105, 0.25, 0.5, 40.0},      // cast bytes
    {0.25e-3, 0.80, 0.21, 0.75, 1e-6, 1e-2},  // host
    {1.10, 0.25, 0.07, 0.375, 0.5, 4.0},      // communication
    {15e-6, 0.70, 0.21, 0.50, 1e-7, 1e-3},    // skew
    {0.65, 0.30, 0.105, 0.31, 0.05, 0.98},    // overlap
    {14.0, 0.60, 0.28, 1.00, 1.0, 200.0},     // token bytes
}};

// One kernel per operation: more launches, and slower hosts in those years.
constexpr double kEagerHost = 0.6e-3;

}  // namespace

StackPriors default_stack_priors(bool fused) {
  StackPriors priors = kPriors;
  if (!fused) {
    priors.at(static_cast<std::size_t>(StackConstant::kHost)).value = kEagerHost;
  }
  return priors;
}

}  // namespace trainyard::simulator
