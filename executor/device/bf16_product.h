// Bf16Products: C = A B or C += A B with A and B in bf16, C in bf16 or fp32, summed in fp32, on the calling thread
// alone.
//
// By oneDNN's bf16 kernels where the CPU has fast instructions for it. Elsewhere the operands are widened to fp32,
// which is exact, and go through sgemm: the same numbers but for the order of the sums. GFLOP/s on one core, bf16
// kernels against sgemm: 366 and 175 on AMD Zen 5; 75 and 127 on an Intel Xeon with AVX512_BF16 but without AMX, whose
// one bf16 unit does no more than the two of fp32; 56 and 150 on AVX-512 without BF16; with AVX2 alone oneDNN refuses.
#pragma once

#include <memory>

#include "executor/device/bf16_path.h"
#include "executor/device/matrix_product.h"
#include "executor/device/scratch_pool.h"

namespace trainyard::executor {

class Bf16Products {
 public:
  explicit Bf16Products(Bf16Path path);
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
