// C = A B or C += A B with A and B in a 16-bit type, C of that type or fp32: the operands are widened to fp32, which is
// exact, and go through sgemm, on the calling thread alone. So sums are fp32's, rounded once where C is narrow.
#pragma once

#include "executor/device/matrix_product.h"
#include "executor/device/scratch_pool.h"

namespace trainyard::executor {

// Thread safe. Throws std::runtime_error when the library refuses.
void multiply_widened(const MatrixProduct& product, ScratchPool& scratch, MatrixProductCounter& counter);

}  // namespace trainyard::executor
