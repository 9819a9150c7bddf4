// MatrixProduct: one call to the BLAS, C = A B (+ bias) or C += A B, on the calling thread alone. multiply() takes
// fp32; bf16_product.h bf16.
//
// The counter adds 2 m n k for every call with the m, n, k that were handed over: it knows nothing of
// programs or segments.
//
// Library: oneDNN's sgemm. It chooses its kernels by the vector instructions it finds. OpenBLAS 0.3.21
// (Debian 12) goes by a list of CPU models; on one that it doesn't know (family 6 model 207, Emerald Rapids,
// in a virtual machine) it took its SSE3 kernels: 32 GFLOP/s against 150 on one core. Told the core type by
// hand it reached 140 to 145 there.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/program/operation.h"
#include "executor/device/device.h"

namespace trainyard::executor {

// Leading dimensions are of the stored arrays: kNN A[m,k] B[k,n], kNT A[m,k] B[n,k], kTN A[k,m] B[k,n].
struct MatrixProduct {
  Transpose transpose = Transpose::kNN;
  std::int64_t m = 0, n = 0, k = 0;
  ConstValues a;
  std::int64_t a_stride = 0;
  ConstValues b;
  std::int64_t b_stride = 0;
  Values c;
  std::int64_t c_stride = 0;
  bool accumulate = false;
  ConstValues bias = {};  // [n], added to every row; null: none
};

class MatrixProductCounter {
 public:
  void add(const MatrixProduct& product) {
    flops_.fetch_add(2 * product.m * product.n * product.k, std::memory_order_relaxed);
    products_.fetch_add(1, std::memory_order_relaxed);
  }
  DeviceCounters read() const {
    return {FlopCount(flops_.load(std::memory_order_relaxed)), products_.load(std::memory_order_relaxed)};
  }

 private:
  std::atomic<std::int64_t> flops_{0};
  std::atomic<std::int64_t> products_{0};
};

// A, B and C in fp32, bias in any type. Thread safe. Throws std::runtime_error when the library refuses.
void multiply(const MatrixProduct& product, MatrixProductCounter& counter);

// C's tiles depend on its shape alone. Cutting costs a single thread about 3 % against one whole call (11
// shapes of C up to 1024 x 4096, three storage orders), because the operand that isn't cut is packed again.
struct ProductTiling {
  std::int64_t rows = 0, columns = 0;            // of a tile
  std::int64_t tile_rows = 0, tile_columns = 0;  // how many
  std::int64_t tiles() const { return tile_rows * tile_columns; }
};
ProductTiling product_tiling(std::int64_t m, std::int64_t n);

// The part of `whole` that tile `index` computes.
MatrixProduct product_tile(const MatrixProduct& whole, const ProductTiling& tiling, std::int64_t index);

// Largest relative error of a few products of odd and even shapes against fp64, all transposes. Older BLAS
// libraries have computed wrong results on CPUs newer than they are: `trainyard doctor` runs this.
double matrix_product_self_test();

}  // namespace trainyard::executor
