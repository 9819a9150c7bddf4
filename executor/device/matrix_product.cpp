#include "executor/device/matrix_product.h"

#include <dnnl.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/error.h"
#include "executor/device/element_type.h"

// Of OpenMP's API, declared here: its header comes with the compiler, and clang-tidy's isn't installed.
extern "C" void omp_set_num_threads(int threads);  // NOLINT(readability-identifier-naming)

namespace trainyard::executor {

namespace {

template <class T>
void add_to_rows(const MatrixProduct& p, const T* bias) {
  for (std::int64_t row = 0; row < p.m; ++row) {
    float* c = (p.c + row * p.c_stride).as<float>();
    for (std::int64_t column = 0; column < p.n; ++column) {
      c[column] += load(bias + column);
    }
  }
}

}  // namespace

void multiply(const MatrixProduct& p, MatrixProductCounter& counter) {
  check(p.a.type == DataType::kFp32 && p.b.type == DataType::kFp32 && p.c.type == DataType::kFp32, "sgemm takes fp32");
  // An OpenMP setting of the calling thread only: the library then works on this thread. Our own pool hands
  // out the tiles.
  omp_set_num_threads(1);
  const dnnl_status_t status =
      dnnl_sgemm(p.transpose == Transpose::kTN ? 'T' : 'N', p.transpose == Transpose::kNT ? 'T' : 'N', p.m, p.n, p.k,
                 1.0f, p.a.as<float>(), p.a_stride, p.b.as<float>(), p.b_stride, p.accumulate ? 1.0f : 0.0f,
                 p.c.as<float>(), p.c_stride);
  if (status == dnnl_out_of_memory) {
    throw std::bad_alloc();
  }
  if (status != dnnl_success) {
    throw std::runtime_error("oneDNN refused a matrix product of " + std::to_string(p.m) + " x " + std::to_string(p.n) +
                             " x " + std::to_string(p.k));
  }
  if (p.bias) {
    with_element_type(p.bias.type, [&]<class T>(T) { add_to_rows(p, p.bias.as<T>()); });
  }
  counter.add(p);
}

namespace {

constexpr std::int64_t kTileSide = 512;

std::int64_t parts(std::int64_t side) { return std::max<std::int64_t>(1, side / kTileSide); }

// Equal tiles, up to a multiple of the vector registers' block.
std::int64_t tile_side(std::int64_t side, std::int64_t count) {
  constexpr std::int64_t kBlock = 48;
  const std::int64_t even = (side + count - 1) / count;
  return count == 1 ? side : (even + kBlock - 1) / kBlock * kBlock;
}

}  // namespace

ProductTiling product_tiling(std::int64_t m, std::int64_t n) {
  // One cut direction only: each tile packs the operand that isn't cut once more. Columns first: whole rows
  // of A cost less to pack again than columns of B (measured).
  const std::int64_t column_parts = parts(n);
  const std::int64_t row_parts = column_parts > 1 ? 1 : parts(m);
  const std::int64_t rows = tile_side(m, row_parts);
  const std::int64_t columns = tile_side(n, column_parts);
  return {rows, columns, (m + rows - 1) / rows, (n + columns - 1) / columns};
}

MatrixProduct product_tile(const MatrixProduct& whole, const ProductTiling& tiling, std::int64_t index) {
  const std::int64_t row = index / tiling.tile_columns * tiling.rows;
  const std::int64_t column = index % tiling.tile_columns * tiling.columns;
  MatrixProduct tile = whole;
  tile.m = std::min(tiling.rows, whole.m - row);
  tile.n = std::min(tiling.columns, whole.n - column);
  tile.a = whole.a + (whole.transpose == Transpose::kTN ? row : row * whole.a_stride);
  tile.b = whole.b + (whole.transpose == Transpose::kNT ? column * whole.b_stride : column);
  tile.c = whole.c + (row * whole.c_stride + column);
  tile.bias = whole.bias + column;
  return tile;
}

namespace {

// Values in [-1, 1) that no blocking of the loops repeats.
std::vector<float> scattered(std::int64_t elements, std::uint32_t state) {
  std::vector<float> values(static_cast<std::size_t>(elements));
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
  }
  return values;
}

double worst_error(Transpose transpose, std::int64_t m, std::int64_t n, std::int64_t k) {
  const std::vector<float> a = scattered(m * k, 1), b = scattered(k * n, 2);
  std::vector<float> c(static_cast<std::size_t>(m * n));
  const std::int64_t a_stride = transpose == Transpose::kTN ? m : k;
  const std::int64_t b_stride = transpose == Transpose::kNT ? k : n;
  MatrixProductCounter ignored;
  multiply({transpose, m, n, k, a.data(), a_stride, b.data(), b_stride, c.data(), n, false}, ignored);
  double worst = 0.0;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double exact = 0.0, size = 0.0;
      for (std::int64_t l = 0; l < k; ++l) {
        const double x = a[transpose == Transpose::kTN ? l * m + i : i * k + l];
        const double y = b[transpose == Transpose::kNT ? j * k + l : l * n + j];
        exact += x * y;
        size += std::abs(x * y);
      }
      const double error = std::abs(c[i * n + j] - exact) / size;
      worst = error <= worst ? worst : error;  // a NaN is the worst
    }
  }
  return worst;
}

}  // namespace

double matrix_product_self_test() {
  double worst = 0.0;
  for (const Transpose transpose : {Transpose::kNN, Transpose::kNT, Transpose::kTN}) {
    for (const std::int64_t m : {1, 7, 64, 129}) {
      for (const std::int64_t n : {3, 48, 130}) {
        for (const std::int64_t k : {1, 33, 256}) {
          const double error = worst_error(transpose, m, n, k);
          worst = error <= worst ? worst : error;
        }
      }
    }
  }
  return worst;
}

}  // namespace trainyard::executor
