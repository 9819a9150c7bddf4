// Tiled attention, backward: the scores are computed again from Q, K and the log-sum-exp.
//
//   P = exp(scale Q K^T - lse),  dV = P^T dO,  dP = dO V^T,  dS = scale P (dP - delta),  dQ = dS K,  dK = dS^T Q
//   delta = rowsum(dO out)
//
// Three kernels, each the only writer of its results, so that every bit repeats: delta; dQ by tiles of queries; dK and
// dV by tiles of keys, over all query heads of the group in order. S and dP are computed in both of the latter: 7
// products instead of 5, in exchange for no atomic additions. dK's products are taken transposed (S^T = K Q^T), so
// that a key's row stays within a warp.
//
// Bytes moved: delta reads out and dO once. dQ: Q, dO, dQ once, K and V once per tile of 64 queries. dK, dV: K, V,
// dK, dV once, Q and dO once per tile of 64 keys. Bound by the tensor cores and shared memory as forward is.
#pragma once

#include <cstdint>

#include "executor/device/cuda/kernels/attention_forward.h"

namespace trainyard::executor {

// delta [sequences, heads, rows], a warp per row.
template <class T>
struct AttentionDelta {
  static constexpr int kMaxThreads = 256;
  static constexpr int kBlocksPerProcessor = 1;

  AttentionShape at;
  const T* out;
  const T* out_grad;
  float* delta;

  LaunchShape shape() const { return {pieces(at.sequences * at.rows * at.heads, kMaxThreads / 32), kMaxThreads, 0}; }

  template <class Block>
  TRAINYARD_HOST_DEVICE void operator()(Block& block) const {
    const std::int64_t index = block.index() * (block.threads() / 32) + block.thread() / 32;
    const bool inside = index < at.sequences * at.rows * at.heads;
    const std::int64_t token = index / at.heads;
    const std::int64_t head = index % at.heads;
    const std::int64_t first = token * at.out_width() + head * at.value_size;
    float sum = 0.0f;
    for (std::int64_t i = block.thread() % 32; inside && i < at.value_size; i += 32) {
      sum += load(out + first + i) * load(out_grad + first + i);
    }
    for (int mask = 16; mask > 0; mask /= 2) {
      sum += block.shuffle_xor(sum, mask);
    }
    if (inside && block.thread() % 32 == 0) {
      delta[at.statistics(token / at.rows, head) + token % at.rows] = sum;
    }
  }
};

template <class T, int kWidth>
struct AttentionQueryGradient {
  static constexpr int kTile = 64;
  static constexpr int kKeys = 32;
  static constexpr int kMaxThreads = 128;
  static constexpr int kBlocksPerProcessor = 1;
  static constexpr int kStride = padded<T>(kWidth);
  static constexpr int kScoreStride = padded<T>(kKeys);
  static constexpr int kScoreTiles = kKeys / 8;
  static constexpr int kOutTiles = kWidth / 8;

  AttentionShape at;
  bool whole;
  const T* qkv;
  const T* out_grad;
  const float* log_sum_exp;
  const float* delta;
  T* qkv_grad;

  LaunchShape shape() const {
    constexpr int kElements = 2 * (kTile + kKeys) * kStride + kTile * kScoreStride;
    return {at.sequences * at.heads * pieces(at.rows, kTile), kMaxThreads, kElements * static_cast<int>(sizeof(T))};
  }

  template <class Block>
  TRAINYARD_HOST_DEVICE void operator()(Block& block) const {
    const std::int64_t tiles = (at.rows + kTile - 1) / kTile;
    const std::int64_t begin = (tiles - 1 - block.index() % tiles) * kTile;
    const std::int64_t head = block.index() / tiles % at.heads;
    const std::int64_t sequence = block.index() / tiles / at.heads;
    const std::int64_t key_head = head / (at.heads / at.key_heads);
    const T* keys = qkv + at.key(sequence, key_head);
    const T* values = qkv + at.value(sequence, key_head);
    const int warp = block.thread() / 32;
    const int lane = block.thread() % 32;

    T* q = static_cast<T*>(block.shared());
    T* d_out = q + kTile * kStride;
    T* k = d_out + kTile * kStride;
    T* v = k + kKeys * kStride;
    T* scores = v + kKeys * kStride + warp * kTileRows * kScoreStride;
    const T* own_q = q + warp * kTileRows * kStride;
    const T* own_d_out = d_out + warp * kTileRows * kStride;

    load_tile<kTile, kWidth>(block, q, qkv + at.query(sequence, head) + begin * at.width(), at.width(), at.rows - begin,
                             at.head_size, whole);
    load_tile<kTile, kWidth>(block, d_out, out_grad + at.out(sequence, head) + begin * at.out_width(), at.out_width(),
                             at.rows - begin, at.value_size, whole);
    const std::int64_t row = begin + warp * kTileRows + lane / 4;
    float lse[2], dot[2];
    for (int half = 0; half < 2; ++half) {
      const bool inside = row + 8 * half < at.rows;
      lse[half] = inside ? log_sum_exp[at.statistics(sequence, head) + row + 8 * half] : 0.0f;
      dot[half] = inside ? delta[at.statistics(sequence, head) + row + 8 * half] : 0.0f;
    }

    float gradient[kOutTiles][4];
    clear(gradient);
    const std::int64_t end = at.end_key(begin, kTile);
    for (std::int64_t key = at.first_key(begin) / kKeys * kKeys; key < end; key += kKeys) {
      block.sync();  // nobody reads the tiles before any more
      load_tile<kKeys, kWidth>(block, k, keys + key * at.width(), at.width(), at.rows - key, at.head_size, whole);
      load_tile<kKeys, kWidth>(block, v, values + key * at.width(), at.width(), at.rows - key, at.value_size, whole);
      block.commit_copies();
      block.template wait_copies<0>();
      block.sync();
      float s[kScoreTiles][4], p[kScoreTiles][4];
      clear(s);
      clear(p);
      warp_product<Transpose::kNT, kWidth>(block, s, own_q, kStride, k, kStride);
      warp_product<Transpose::kNT, kWidth>(block, p, own_d_out, kStride, v, kStride);
      const bool all = at.sees_all(begin, kTile, key, kKeys);
#pragma unroll
      for (int tile = 0; tile < kScoreTiles; ++tile) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const bool seen = all || at.sees(row + i / 2 * 8, key + tile * 8 + lane % 4 * 2 + i % 2);
          const float weight = seen ? exponential(s[tile][i] * at.scale - lse[i / 2]) : 0.0f;
          s[tile][i] = at.scale * weight * (p[tile][i] - dot[i / 2]);
        }
      }
      write_fragment(block, s, scores, kScoreStride);
      block.sync_warp();
      warp_product<Transpose::kNN, kKeys>(block, gradient, scores, kScoreStride, k, kStride);
    }
    write_rows(block, gradient, qkv_grad + at.query(sequence, head), row, at.rows, at.width(), at.head_size);
  }

  // Rows row and row + 8 of a fragment, to memory.
  template <class Block>
  static TRAINYARD_HOST_DEVICE void write_rows(Block& block, const float (&c)[kOutTiles][4], T* to, std::int64_t row,
                                               std::int64_t rows, std::int64_t stride, std::int64_t width) {
    const int lane = block.thread() % 32;
#pragma unroll
    for (int tile = 0; tile < kOutTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const std::int64_t at_row = row + i / 2 * 8;
        const int column = tile * 8 + lane % 4 * 2 + i % 2;
        if (at_row < rows && column < width) {
          store(to + at_row * stride + column, c[tile][i]);
        }
      }
    }
  }
};

template <class T, int kWidth>
struct AttentionKeyGradient {
  static constexpr int kTile = 64;
  static constexpr int kQueries = 32;
  static constexpr int kMaxThreads = 128;
  static constexpr int kBlocksPerProcessor = 1;
  static constexpr int kStride = padded<T>(kWidth);
  static constexpr int kScoreStride = padded<T>(kQueries);
  static constexpr int kScoreTiles = kQueries / 8;
  static constexpr int kOutTiles = kWidth / 8;

  AttentionShape at;
  bool whole;
  const T* qkv;
  const T* out_grad;
  const float* log_sum_exp;
  const float* delta;
  T* qkv_grad;

  LaunchShape shape() const {
    constexpr int kElements = 2 * (kTile + kQueries) * kStride + kTile * kScoreStride;
    constexpr int kBytes = kElements * static_cast<int>(sizeof(T)) + 2 * kQueries * static_cast<int>(sizeof(float));
    return {at.sequences * at.key_heads * pieces(at.rows, kTile), kMaxThreads, kBytes};
  }

  template <class Block>
  TRAINYARD_HOST_DEVICE void operator()(Block& block) const {
    const std::int64_t tiles = (at.rows + kTile - 1) / kTile;
    const std::int64_t begin = block.index() % tiles * kTile;  // with a causal mask the first tile is seen by most
    const std::int64_t key_head = block.index() / tiles % at.key_heads;
    const std::int64_t sequence = block.index() / tiles / at.key_heads;
    const std::int64_t group = at.heads / at.key_heads;
    const int warp = block.thread() / 32;
    const int lane = block.thread() % 32;

    T* k = static_cast<T*>(block.shared());
    T* v = k + kTile * kStride;
    T* q = v + kTile * kStride;
    T* d_out = q + kQueries * kStride;
    T* scores = d_out + kQueries * kStride;
    float* lse = reinterpret_cast<float*>(scores + kTile * kScoreStride);
    float* dot = lse + kQueries;
    scores += warp * kTileRows * kScoreStride;

    load_tile<kTile, kWidth>(block, k, qkv + at.key(sequence, key_head) + begin * at.width(), at.width(),
                             at.rows - begin, at.head_size, whole);
    load_tile<kTile, kWidth>(block, v, qkv + at.value(sequence, key_head) + begin * at.width(), at.width(),
                             at.rows - begin, at.value_size, whole);
    float key_gradient[kOutTiles][4], value_gradient[kOutTiles][4];
    clear(key_gradient);
    clear(value_gradient);
    const std::int64_t row = begin + warp * kTileRows + lane / 4;
    const std::int64_t end = at.end_query(begin, kTile);
    for (std::int64_t head = key_head * group; head < (key_head + 1) * group; ++head) {
      const T* queries = qkv + at.query(sequence, head);
      const T* gradients = out_grad + at.out(sequence, head);
      const std::int64_t statistics = at.statistics(sequence, head);
      for (std::int64_t query = at.first_query(begin) / kQueries * kQueries; query < end; query += kQueries) {
        block.sync();  // nobody reads the tiles before any more
        load_tile<kQueries, kWidth>(block, q, queries + query * at.width(), at.width(), at.rows - query, at.head_size,
                                    whole);
        load_tile<kQueries, kWidth>(block, d_out, gradients + query * at.out_width(), at.out_width(), at.rows - query,
                                    at.value_size, whole);
        if (block.thread() < kQueries) {
          const bool inside = query + block.thread() < at.rows;
          lse[block.thread()] = inside ? log_sum_exp[statistics + query + block.thread()] : 0.0f;
          dot[block.thread()] = inside ? delta[statistics + query + block.thread()] : 0.0f;
        }
        block.commit_copies();
        block.template wait_copies<0>();
        block.sync();
        add_tile(block, k + warp * kTileRows * kStride, v + warp * kTileRows * kStride, q, d_out, lse, dot, scores, row,
                 query, at.sees_all(query, kQueries, begin, kTile), key_gradient, value_gradient);
      }
    }
    using Rows = AttentionQueryGradient<T, kWidth>;
    Rows::write_rows(block, key_gradient, qkv_grad + at.key(sequence, key_head), row, at.rows, at.width(),
                     at.head_size);
    Rows::write_rows(block, value_gradient, qkv_grad + at.value(sequence, key_head), row, at.rows, at.width(),
                     at.value_size);
  }

 private:
  // Rows of the fragments are keys, columns queries. all: every query sees every key.
  template <class Block>
  TRAINYARD_HOST_DEVICE void add_tile(Block& block, const T* k, const T* v, const T* q, const T* d_out,
                                      const float* lse, const float* dot, T* scores, std::int64_t row,
                                      std::int64_t query, bool all, float (&key_gradient)[kOutTiles][4],
                                      float (&value_gradient)[kOutTiles][4]) const {
    const int lane = block.thread() % 32;
    float s[kScoreTiles][4], p[kScoreTiles][4];
    clear(s);
    warp_product<Transpose::kNT, kWidth>(block, s, k, kStride, q, kStride);
#pragma unroll
    for (int tile = 0; tile < kScoreTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int column = tile * 8 + lane % 4 * 2 + i % 2;
        const bool seen = all || at.sees(query + column, row + i / 2 * 8);
        s[tile][i] = seen ? exponential(s[tile][i] * at.scale - lse[column]) : 0.0f;
      }
    }
    write_fragment(block, s, scores, kScoreStride);
    block.sync_warp();
    warp_product<Transpose::kNN, kQueries>(block, value_gradient, scores, kScoreStride, d_out, kStride);
    clear(p);
    warp_product<Transpose::kNT, kWidth>(block, p, v, kStride, d_out, kStride);
#pragma unroll
    for (int tile = 0; tile < kScoreTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int column = tile * 8 + lane % 4 * 2 + i % 2;
        s[tile][i] = at.scale * s[tile][i] * (p[tile][i] - dot[column]);
      }
    }
    block.sync_warp();  // every lane has read the weights
    write_fragment(block, s, scores, kScoreStride);
    block.sync_warp();
    warp_product<Transpose::kNN, kQueries>(block, key_gradient, scores, kScoreStride, q, kStride);
  }
};

}  // namespace trainyard::executor
