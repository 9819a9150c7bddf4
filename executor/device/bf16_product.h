// Bf16Products: C = A B or C += A B with A and B in bf16, C in bf16 or fp32, summed in fp32, on the calling thread
// alone.
//
// By oneDNN's bf16 kernels where the CPU has the instructions (AVX512_BF16, AMX). Without them oneDNN is slow (56
// GFLOP/s against 150 of sgemm on a core with AVX-512) or refuses (AVX2 only), so the operands are widened to fp32,
// which is exact, and go through sgemm: the same numbers but for the order of the sums.
#pragma once

#include <memory>

#include "executor/device/matrix_product.h"
#include "executor/device/scratch_pool.h"

namespace trainyard::executor {

class Bf16Products {
 public:
  explicit Bf16Products(bool allow_native);  // false: widened on any CPU
  ~Bf16Products();
  Bf16Products(const Bf16Products&) = delete;
  Bf16Products& operator=(const Bf16Products&) = delete;

  bool native() const { return native_ != nullptr; }

  // Thread safe. Throws std::runtime_error when the library refuses.
  void multiply(const MatrixProduct& product, ScratchPool& scratch, MatrixProductCounter& counter);

 private:
  class Native;
  std::unique_ptr<Native> native_;
};

}  // namespace trainyard::executor
