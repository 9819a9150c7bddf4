// Fp8Product: C (+)= A B^T of matrices in fp8 (kernel/float8.h), as a device's kernels have made them of bf16.
#pragma once

#include <cstdint>

#include "core/program/operation.h"
#include "executor/device/values.h"

namespace trainyard::executor {

struct Fp8Operand {
  const void* data = nullptr;      // device memory
  bool gradient = false;           // e5m2; else e4m3
  const float* inverse = nullptr;  // of its scale: elements are data * *inverse; device memory
};

constexpr std::int64_t kFp8Sides = 16;  // sides of both matrices are multiples of it

struct Fp8Product {
  std::int64_t m = 0, n = 0, k = 0;
  Fp8Operand a;  // [m, k]
  Fp8Operand b;  // [n, k]
  Values c;      // [m, n], bf16 or fp32
  bool accumulate = false;
  ConstValues bias;  // [n] bf16; null: none

  // At most one of the two is.
  constexpr GradientOperand gradient() const {
    return a.gradient ? GradientOperand::kA : b.gradient ? GradientOperand::kB : GradientOperand::kNone;
  }
};

}  // namespace trainyard::executor
