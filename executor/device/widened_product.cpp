#include "executor/device/widened_product.h"

#include <algorithm>

#include "executor/device/convert.h"

namespace trainyard::executor {

namespace {

// Rows as rows of fp32 without gaps; the room that they took.
std::int64_t widen_rows(ConstValues from, std::int64_t stride, std::int64_t rows, std::int64_t columns, float* to) {
  for (std::int64_t row = 0; row < rows; ++row) {
    to_floats(from + row * stride, to + row * columns, columns);
  }
  return rows * columns;
}

// So much of a product is widened at once, so that the room doesn't grow with the product: rows of C, and of the sum.
constexpr std::int64_t kWideRows = 512;
constexpr std::int64_t kWideDepth = 512;

// Rows [row, row + rows) of C, columns [depth, depth + terms) of A's sum.
MatrixProduct part_of(const MatrixProduct& p, std::int64_t row, std::int64_t rows, std::int64_t depth,
                      std::int64_t terms) {
  MatrixProduct part = p;
  part.m = rows;
  part.k = terms;
  part.a = p.a + (p.transpose == Transpose::kTN ? depth * p.a_stride + row : row * p.a_stride + depth);
  part.b = p.b + (p.transpose == Transpose::kNT ? depth : depth * p.b_stride);
  part.c = p.c + row * p.c_stride;
  part.accumulate = p.accumulate || depth > 0;
  part.bias = depth > 0 ? ConstValues() : p.bias;
  return part;
}

// C is fp32; `room` holds the operands.
void multiply_part(MatrixProduct p, float* room, MatrixProductCounter& counter) {
  const std::int64_t a_rows = p.transpose == Transpose::kTN ? p.k : p.m;
  const std::int64_t b_rows = p.transpose == Transpose::kNT ? p.n : p.k;
  const std::int64_t a_columns = p.m * p.k / a_rows, b_columns = p.k * p.n / b_rows;
  float* b = room + widen_rows(p.a, p.a_stride, a_rows, a_columns, room);
  widen_rows(p.b, p.b_stride, b_rows, b_columns, b);
  p.a = room;
  p.a_stride = a_columns;
  p.b = b;
  p.b_stride = b_columns;
  multiply(p, counter);
}

}  // namespace

void multiply_widened(const MatrixProduct& p, ScratchPool& scratch, MatrixProductCounter& counter) {
  const bool in_place = p.c.type == DataType::kFp32;
  const std::int64_t most_rows = std::min(p.m, kWideRows), most_terms = std::min(p.k, kWideDepth);
  const std::int64_t operands = (most_rows + p.n) * most_terms;
  const ScratchPool::Lease lease(scratch, operands + (in_place ? 0 : most_rows * p.n));
  float* c = lease.data() + operands;
  for (std::int64_t row = 0; row < p.m; row += kWideRows) {
    const std::int64_t rows = std::min(kWideRows, p.m - row);
    const Values narrow_c = p.c + row * p.c_stride;
    if (!in_place && p.accumulate) {
      widen_rows(narrow_c, p.c_stride, rows, p.n, c);
    }
    for (std::int64_t depth = 0; depth < p.k; depth += kWideDepth) {
      MatrixProduct part = part_of(p, row, rows, depth, std::min(kWideDepth, p.k - depth));
      if (!in_place) {
        part.c = c;
        part.c_stride = p.n;
      }
      multiply_part(part, lease.data(), counter);
    }
    for (std::int64_t i = 0; !in_place && i < rows; ++i) {
      from_floats(c + i * p.n, narrow_c + i * p.c_stride, p.n);
    }
  }
}

}  // namespace trainyard::executor
