// Tiled attention with an online softmax (Dao et al. 2022; Milakov and Gimelshein 2018), forward.
//
//   for each tile of keys:  S = scale Q K^T;  m' = max(m, max S);  P = exp(S - m')
//                           l = l exp(m - m') + sum P;  O = O exp(m - m') + P V;  m = m'
//   out = O / l,  log-sum-exp = m + ln l
//
// A block of 4 warps owns kTile = 64 queries of one (sequence, head), a warp 16 of them: statistics never leave the
// warp. K and V of a tile are copied to shared memory asynchronously, V while scores are computed, the next K while
// they weigh V. kWidth: head and value sizes, padded with zeros.
//
// Bytes moved, per block: Q, out and log-sum-exp once, K and V of the keys it sees once each (from L2 after the first
// head of a group). 4 * 64 * keys * head_size FLOPs against 2 * keys * head_size * element bytes: 64 FLOP a byte of
// L2 in bf16, 128 with two bytes an element counted once; bound by the tensor cores and by shared memory, not by HBM.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "executor/device/cuda/kernels/attention_shape.h"
#include "executor/device/cuda/kernels/launch_shape.h"
#include "executor/device/cuda/kernels/warp_product.h"
#include "executor/kernel/exponential.h"

namespace trainyard::executor {

// A row's maximum or sum lies in the four lanes of a quad.
template <class Block>
TRAINYARD_HOST_DEVICE inline float quad_maximum(Block& block, float value) {
  for (int mask = 1; mask <= 2; mask *= 2) {
    const float other = block.shuffle_xor(value, mask);
    value = value < other ? other : value;
  }
  return value;
}
template <class Block>
TRAINYARD_HOST_DEVICE inline float quad_sum(Block& block, float value) {
  for (int mask = 1; mask <= 2; mask *= 2) {
    value += block.shuffle_xor(value, mask);
  }
  return value;
}

template <class T, int kWidth>
struct AttentionForward {
  static constexpr int kTile = 64;
  static constexpr int kMaxThreads = 128;
  static constexpr int kBlocksPerProcessor = 1;
  static constexpr int kStride = padded<T>(kWidth);
  static constexpr int kWeightStride = padded<T>(kTile);
  static constexpr int kScoreTiles = kTile / 8;
  static constexpr int kOutTiles = kWidth / 8;

  AttentionShape at;
  bool whole;  // whole_rows()
  const T* qkv;
  T* out;
  float* log_sum_exp;

  LaunchShape shape() const {
    constexpr int kElements = 3 * kTile * kStride + kTile * kWeightStride;
    return {at.sequences * at.heads * pieces(at.rows, kTile), kMaxThreads, kElements * static_cast<int>(sizeof(T))};
  }

  template <class Block>
  TRAINYARD_HOST_DEVICE void operator()(Block& block) const {
    const std::int64_t tiles = (at.rows + kTile - 1) / kTile;
    // The longest first: with a causal mask the last tile sees most.
    const std::int64_t begin = (tiles - 1 - block.index() % tiles) * kTile;
    const std::int64_t head = block.index() / tiles % at.heads;
    const std::int64_t sequence = block.index() / tiles / at.heads;
    const std::int64_t key_head = head / (at.heads / at.key_heads);
    const T* queries = qkv + at.query(sequence, head) + begin * at.width();
    const T* keys = qkv + at.key(sequence, key_head);
    const T* values = qkv + at.value(sequence, key_head);
    const int warp = block.thread() / 32;
    const int lane = block.thread() % 32;

    T* q = static_cast<T*>(block.shared());
    T* k = q + kTile * kStride;
    T* v = k + kTile * kStride;
    T* weights = v + kTile * kStride + warp * kTileRows * kWeightStride;  // this warp's rows

    const std::int64_t first = at.first_key(begin) / kTile * kTile;
    const std::int64_t end = at.end_key(begin, kTile);
    load_tile<kTile, kWidth>(block, q, queries, at.width(), at.rows - begin, at.head_size, whole);
    load_tile<kTile, kWidth>(block, k, keys + first * at.width(), at.width(), at.rows - first, at.head_size, whole);
    block.commit_copies();

    float o[kOutTiles][4];
    clear(o);
    float maximum[2] = {-std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()};
    float sum[2] = {0.0f, 0.0f};  // this lane's share
    const std::int64_t row = begin + warp * kTileRows + lane / 4;

    for (std::int64_t key = first; key < end; key += kTile) {
      block.template wait_copies<0>();
      block.sync();  // K is here; nobody reads V any more
      load_tile<kTile, kWidth>(block, v, values + key * at.width(), at.width(), at.rows - key, at.value_size, whole);
      block.commit_copies();
      float s[kScoreTiles][4];
      clear(s);
      warp_product<Transpose::kNT, kWidth>(block, s, q + warp * kTileRows * kStride, kStride, k, kStride);
      block.sync();  // nobody reads K any more
      const std::int64_t next = key + kTile;
      if (next < end) {
        load_tile<kTile, kWidth>(block, k, keys + next * at.width(), at.width(), at.rows - next, at.head_size, whole);
      }
      block.commit_copies();
      if (!at.sees_all(begin, kTile, key, kTile)) {
        mask(s, row, key + lane % 4 * 2);
      }
      weigh(block, s, maximum, sum, o);
      write_fragment(block, s, weights, kWeightStride);
      block.template wait_copies<1>();
      block.sync();  // V and the weights are here
      warp_product<Transpose::kNN, kTile>(block, o, weights, kWeightStride, v, kStride);
    }
    block.template wait_copies<0>();
    write(block, sequence, head, row, o, maximum, sum);
  }

 private:
  TRAINYARD_HOST_DEVICE void mask(float (&s)[kScoreTiles][4], std::int64_t row, std::int64_t column) const {
#pragma unroll
    for (int tile = 0; tile < kScoreTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (!at.sees(row + i / 2 * 8, column + tile * 8 + i % 2)) {
          s[tile][i] = -std::numeric_limits<float>::infinity();
        }
      }
    }
  }

  // s: scores in, weights out. o and the row's statistics are brought to the new maximum.
  template <class Block>
  TRAINYARD_HOST_DEVICE void weigh(Block& block, float (&s)[kScoreTiles][4], float (&maximum)[2], float (&sum)[2],
                                   float (&o)[kOutTiles][4]) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float highest = maximum[half];
#pragma unroll
      for (int tile = 0; tile < kScoreTiles; ++tile) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& score = s[tile][2 * half + i];
          score *= at.scale;
          highest = highest < score ? score : highest;
        }
      }
      highest = quad_maximum(block, highest);
      // No key seen so far: any finite shift leaves all weights 0.
      const float shift = highest == -std::numeric_limits<float>::infinity() ? 0.0f : highest;
      const float shrink = exponential(maximum[half] - shift);
      maximum[half] = highest;
      float total = 0.0f;
#pragma unroll
      for (int tile = 0; tile < kScoreTiles; ++tile) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& score = s[tile][2 * half + i];
          score = exponential(score - shift);
          total += score;
        }
      }
      sum[half] = sum[half] * shrink + total;
#pragma unroll
      for (int tile = 0; tile < kOutTiles; ++tile) {
        o[tile][2 * half] *= shrink;
        o[tile][2 * half + 1] *= shrink;
      }
    }
  }

  template <class Block>
  TRAINYARD_HOST_DEVICE void write(Block& block, std::int64_t sequence, std::int64_t head, std::int64_t row,
                                   const float (&o)[kOutTiles][4], const float (&maximum)[2],
                                   const float (&sum)[2]) const {
    const int lane = block.thread() % 32;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float total = quad_sum(block, sum[half]);
      const std::int64_t at_row = row + 8 * half;
      if (at_row >= at.rows) {
        continue;
      }
      if (lane % 4 == 0) {
        log_sum_exp[at.statistics(sequence, head) + at_row] = maximum[half] + std::log(total);
      }
      const float inverse = 1.0f / total;
      T* to = out + at.out(sequence, head) + at_row * at.out_width();
#pragma unroll
      for (int tile = 0; tile < kOutTiles; ++tile) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const int column = tile * 8 + lane % 4 * 2 + i;
          if (column < at.value_size) {
            store(to + column, o[tile][2 * half + i] * inverse);
          }
        }
      }
    }
  }
};

}  // namespace trainyard::executor
