// A matrix's largest magnitude, and its elements in fp8 (kernel/float8.h), as they lie or turned round: tensor cores of
// Hopper multiply fp8 along rows of both operands only.
//
// Bytes moved an element of a 16-bit matrix: largest magnitude 2 read; casts 2 read + 1 written. Bound by memory.
#pragma once

#include <cstdint>

#include "executor/device/cuda/kernels/flat_kernels.h"
#include "executor/kernel/float8.h"

namespace trainyard::executor {

// *largest (0 before): the bits of the largest magnitude, which the order of the blocks doesn't change.
template <class T>
struct LargestMagnitude : FlatKernel<T> {
  const T* from;
  std::int64_t elements;
  std::uint32_t* largest;
  bool vectors;

  LaunchShape shape() const { return this->flat(elements); }
  template <class Block>
  TRAINYARD_HOST_DEVICE void operator()(Block& block) const {
    std::uint32_t most = 0;
    this->each(block, elements, vectors, [&](auto i) { take(most, load(from + i)); });
    for (int mask = kWarp / 2; mask > 0; mask /= 2) {
      const std::uint32_t other = block.shuffle_xor(most, mask);
      most = most < other ? other : most;
    }
    if (block.thread() % kWarp == 0) {
      block.maximum(largest, most);
    }
  }

 private:
  static TRAINYARD_HOST_DEVICE void take(std::uint32_t& most, float x) {
    const std::uint32_t bits = magnitude_bits(x);
    most = most < bits ? bits : most;
  }
  template <int V>
  static TRAINYARD_HOST_DEVICE void take(std::uint32_t& most, const Lanes<V>& x) {
#pragma unroll
    for (int lane = 0; lane < V; ++lane) {
      take(most, x.at[lane]);
    }
  }
};

// to = from * scale in the format F; *inverse = 1 / scale.
template <class T, class F>
struct Float8Cast : FlatKernel<T> {
  const T* from;
  F* to;
  const std::uint32_t* largest;
  float* inverse;
  std::int64_t elements;
  bool vectors;

  LaunchShape shape() const { return this->flat(elements); }
  template <class Block>
  TRAINYARD_HOST_DEVICE void operator()(Block& block) const {
    const float scale = float8_scale<F>(*largest);
    if (block.index() == 0 && block.thread() == 0) {
      *inverse = 1.0f / scale;
    }
    this->each(block, elements, vectors, [&](auto i) { store(to + i, load(from + i) * scale); });
  }
};

// to [columns, rows] = from [rows, columns] turned round, likewise. rows and columns are multiples of 16.
template <class T, class F>
struct Float8CastTurned {
  static constexpr int kMaxThreads = 256;
  static constexpr int kBlocksPerProcessor = 4;
  static constexpr int kSide = 64;           // of the tile that a block turns round in shared memory
  static constexpr int kPack = 4;            // elements that a thread reads and writes at once
  static constexpr int kStride = kSide + 4;  // so that the rows that a warp reads lie in different banks

  const T* from;
  F* to;
  const std::uint32_t* largest;
  float* inverse;
  std::int64_t rows, columns;
  bool vectors;

  LaunchShape shape() const {
    return {pieces(rows, kSide) * pieces(columns, kSide), kMaxThreads, kSide * kStride * static_cast<int>(sizeof(F))};
  }
  template <class Block>
  TRAINYARD_HOST_DEVICE void operator()(Block& block) const {
    const float scale = float8_scale<F>(*largest);
    if (block.index() == 0 && block.thread() == 0) {
      *inverse = 1.0f / scale;
    }
    const std::int64_t across = (columns + kSide - 1) / kSide;
    const std::int64_t row = block.index() / across * kSide;
    const std::int64_t column = block.index() % across * kSide;
    F* tile = static_cast<F*>(block.shared());
    for (int i = block.thread(); i < kSide * kSide / kPack; i += kMaxThreads) {
      const int r = i / (kSide / kPack);
      const int c = i % (kSide / kPack) * kPack;
      const T* x = from + (row + r) * columns;
      F* y = tile + r * kStride;
      if (row + r < rows && column + c < columns) {
        if (vectors) {
          store(y + Pack<kPack>{c}, load(x + Pack<kPack>{column + c}) * scale);
        } else {
          for (int lane = 0; lane < kPack; ++lane) {
            store(y + c + lane, load(x + column + c + lane) * scale);
          }
        }
      }
    }
    block.sync();
    for (int i = block.thread(); i < kSide * kSide / kPack; i += kMaxThreads) {
      const int c = i / (kSide / kPack);
      const int r = i % (kSide / kPack) * kPack;
      if (row + r < rows && column + c < columns) {
        Chunk<F, kPack> turned;
#pragma unroll
        for (int lane = 0; lane < kPack; ++lane) {
          turned.element[lane] = tile[(r + lane) * kStride + c];
        }
        *reinterpret_cast<Chunk<F, kPack>*>(to + (column + c) * rows + row + r) = turned;
      }
    }
  }
};

}  // namespace trainyard::executor
