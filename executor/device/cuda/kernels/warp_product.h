// Products of small tiles in shared memory, a warp at a time.
//
//   C[16, 8 kTiles] += A[16, kDepth] B,   A[m][k];  B as [n][k] (kNT) or [k][n] (kNN)
//
// C lies in registers as the tensor cores' m16n8 accumulators do (PTX ISA, "mma.m16n8k16"): lane l = 4 g + q holds
// of each 8 columns C[g][2q], C[g][2q + 1], C[g + 8][2q], C[g + 8][2q + 1]. 16-bit types go through the tensor
// cores with fp32 sums; fp32 through ordinary multiply-adds in the same places, so that one attention kernel serves
// both.
//
// A Block has for this:
//   multiply<T>(c, a, b)                    mma.m16n8k16 of bf16 or fp16
//   load_matrices(r, row), ..._transposed   ldmatrix.x4: lane l gives the address of row l % 8 of 8x8 matrix l / 8
//   copy16(to, from), commit_copies(), wait_copies<N>()   cp.async: 16 bytes, until at most N commits are under way
#pragma once

#include <cstdint>

#include "core/program/operation.h"
#include "executor/kernel/bfloat16.h"
#include "executor/kernel/float16.h"
#include "executor/kernel/host_device.h"

namespace trainyard::executor {

constexpr int kTileRows = 16;  // of C, per warp

// Elements between rows of a tile of `width` columns in shared memory: 16 bytes more than the row, so that the
// eight rows that a warp reads at once lie in different banks.
template <class T>
TRAINYARD_HOST_DEVICE constexpr int padded(int width) {
  return width + 16 / static_cast<int>(sizeof(T));
}

template <Transpose kOrder, int kDepth, int kTiles, class Block, class T>
TRAINYARD_HOST_DEVICE inline void warp_product(Block& block, float (&c)[kTiles][4], const T* a, int a_stride,
                                               const T* b, int b_stride) {
  static_assert(sizeof(T) == 2, "the tensor cores take 16-bit types here");
  static_assert(kTiles % 2 == 0 && kDepth % 16 == 0);
  const int lane = block.thread() % 32;
#pragma unroll
  for (int k = 0; k < kDepth; k += 16) {
    std::uint32_t left[4];
    block.load_matrices(left, a + (lane % 16) * a_stride + k + lane / 16 * 8);
#pragma unroll
    for (int tile = 0; tile < kTiles; tile += 2) {
      std::uint32_t right[4];
      if constexpr (kOrder == Transpose::kNT) {
        const int n = tile * 8 + lane % 8 + lane / 16 * 8;
        block.load_matrices(right, b + n * b_stride + k + lane / 8 % 2 * 8);
      } else {
        block.load_matrices_transposed(right, b + (k + lane % 16) * b_stride + tile * 8 + lane / 16 * 8);
      }
      block.template multiply<T>(c[tile], left, right[0], right[1]);
      block.template multiply<T>(c[tile + 1], left, right[2], right[3]);
    }
  }
}

template <Transpose kOrder, int kDepth, int kTiles, class Block>
TRAINYARD_HOST_DEVICE inline void warp_product(Block& block, float (&c)[kTiles][4], const float* a, int a_stride,
                                               const float* b, int b_stride) {
  const int lane = block.thread() % 32;
  const float* upper = a + lane / 4 * a_stride;
  const float* lower = upper + 8 * a_stride;
  const int column = lane % 4 * 2;
#pragma unroll 4
  for (int k = 0; k < kDepth; ++k) {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      const int n = tile * 8 + column;
      const float left = kOrder == Transpose::kNT ? b[n * b_stride + k] : b[k * b_stride + n];
      const float right = kOrder == Transpose::kNT ? b[(n + 1) * b_stride + k] : b[k * b_stride + n + 1];
      c[tile][0] += upper[k] * left;
      c[tile][1] += upper[k] * right;
      c[tile][2] += lower[k] * left;
      c[tile][3] += lower[k] * right;
    }
  }
}

template <int kTiles>
TRAINYARD_HOST_DEVICE inline void clear(float (&c)[kTiles][4]) {
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      c[tile][i] = 0.0f;
    }
  }
}

// Begins to copy rows [0, rows) of `width` elements into a tile of kRows x kWidth; zeros elsewhere. `whole`: rows
// and width are multiples of 16 bytes. The caller commits and waits.
template <int kRows, int kWidth, class T, class Block>
TRAINYARD_HOST_DEVICE inline void load_tile(Block& block, T* tile, const T* from, std::int64_t stride,
                                            std::int64_t rows, std::int64_t width, bool whole) {
  constexpr int kElements = 16 / static_cast<int>(sizeof(T));
  constexpr int kChunks = kWidth / kElements;
  for (int index = block.thread(); index < kRows * kChunks; index += block.threads()) {
    const int row = index / kChunks;
    const int column = index % kChunks * kElements;
    T* to = tile + row * padded<T>(kWidth) + column;
    const T* source = from + row * stride + column;
    if (whole && row < rows && column < width) {
      block.copy16(to, source);
    } else {
      for (int i = 0; i < kElements; ++i) {
        store(to + i, row < rows && column + i < width ? load(source + i) : 0.0f);
      }
    }
  }
}

// Writes C to a tile in shared memory, this warp's 16 rows of it. The warp must sync before it reads it.
template <int kTiles, class T, class Block>
TRAINYARD_HOST_DEVICE inline void write_fragment(Block& block, const float (&c)[kTiles][4], T* tile, int stride) {
  const int lane = block.thread() % 32;
  T* upper = tile + lane / 4 * stride + lane % 4 * 2;
  T* lower = upper + 8 * stride;
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
    store(upper + n * 8, c[n][0]);
    store(upper + n * 8 + 1, c[n][1]);
    store(lower + n * 8, c[n][2]);
    store(lower + n * 8 + 1, c[n][3]);
  }
}

}  // namespace trainyard::executor
