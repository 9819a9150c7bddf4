// Sums over tokens, a column each: gradients of norm weights and of biases. And what tokens give their table's rows.
//
// Sums in two kernels, so that many blocks can work and every bit repeats: partial sums of kRows or more tokens, then
// the partial sums in order. Bytes moved: the operands once; partial sums 8 bytes a column and chunk, at most 64
// chunks, out of L2. Bound by memory.
#pragma once

#include <cstdint>

#include "executor/device/cuda/kernels/block_group.h"
#include "executor/device/cuda/kernels/launch_shape.h"
#include "executor/kernel/embedding.h"

namespace trainyard::executor {

// Terms of a column sum at (row, columns from `at` on): a pack or a single one.
template <class T>
struct NormWeightTerm {
  const T *normed_grad, *residual;
  const float* rstd;
  template <class Index>
  TRAINYARD_HOST_DEVICE auto operator()(std::int64_t row, std::int64_t begin, Index i) const {
    return load(normed_grad + begin + i) * load(residual + begin + i) * rstd[row];
  }
};

template <class T>
struct LayerNormWeightTerm {
  const T *normed_grad, *residual;
  const float* moments;
  template <class Index>
  TRAINYARD_HOST_DEVICE auto operator()(std::int64_t row, std::int64_t begin, Index i) const {
    return load(normed_grad + begin + i) * ((load(residual + begin + i) - moments[2 * row]) * moments[2 * row + 1]);
  }
};

template <class T>
struct BiasTerm {
  const T* grad;
  template <class Index>
  TRAINYARD_HOST_DEVICE auto operator()(std::int64_t, std::int64_t begin, Index i) const {
    return load(grad + begin + i);
  }
};

constexpr std::int64_t kMostChunks = 64;
constexpr std::int64_t kRowsOfChunk = 64;  // at least

inline std::int64_t column_chunks(std::int64_t t) {
  const std::int64_t chunks = pieces(t, kRowsOfChunk);
  return chunks < kMostChunks ? chunks : kMostChunks;
}

// partial [chunks, n]. 32 packs of columns side by side, 8 rows deep. V: 1, or a pack of 16 bytes.
template <class Term, int V>
struct ColumnPartialSums {
  static constexpr int kMaxThreads = 256;
  static constexpr int kBlocksPerProcessor = 4;
  static constexpr int kDepth = kMaxThreads / kWarp;
  static constexpr std::int64_t kColumns = std::int64_t{kWarp} * V;

  Term term;
  float* partial;
  std::int64_t t, n;

  LaunchShape shape() const {
    return {pieces(n, kColumns) * column_chunks(t), kMaxThreads, kMaxThreads * V * static_cast<int>(sizeof(float))};
  }

  template <class Block>
  TRAINYARD_HOST_DEVICE void operator()(Block& block) const {
    const std::int64_t strips = (n + kColumns - 1) / kColumns;
    const std::int64_t chunk = block.index() / strips;
    const std::int64_t most = (t + kRowsOfChunk - 1) / kRowsOfChunk;
    const std::int64_t chunks = most < kMostChunks ? most : kMostChunks;
    const std::int64_t rows = (t + chunks - 1) / chunks;
    const std::int64_t end = (chunk + 1) * rows < t ? (chunk + 1) * rows : t;
    const int lane = block.thread() % kWarp;
    const int depth = block.thread() / kWarp;
    const std::int64_t column = block.index() % strips * kColumns + std::int64_t{lane} * V;

    Lanes<V> sum{};
    if (column < n) {
      for (std::int64_t row = chunk * rows + depth; row < end; row += kDepth) {
        sum = sum + at(row, column);
      }
    }
    auto* shared = static_cast<float*>(block.shared());
#pragma unroll
    for (int i = 0; i < V; ++i) {
      shared[(depth * V + i) * kWarp + lane] = sum.at[i];
    }
    block.sync();
    if (depth == 0 && column < n) {
      for (int i = 0; i < V; ++i) {
        float total = 0.0f;
        for (int d = 0; d < kDepth; ++d) {
          total += shared[(d * V + i) * kWarp + lane];
        }
        partial[chunk * n + column + i] = total;
      }
    }
  }

 private:
  TRAINYARD_HOST_DEVICE Lanes<V> at(std::int64_t row, std::int64_t column) const {
    if constexpr (V == 1) {
      return {{term(row, row * n, column)}};
    } else {
      return term(row, row * n, Pack<V>{column});
    }
  }
};

// to [n] (+)= the chunks of partial in order.
template <class G>
struct ColumnSums {
  static constexpr int kMaxThreads = 256;
  static constexpr int kBlocksPerProcessor = 4;

  const float* partial;
  G* to;
  std::int64_t chunks, n;
  bool accumulate;

  LaunchShape shape() const { return {pieces(n, kMaxThreads), kMaxThreads, 0}; }
  template <class Block>
  TRAINYARD_HOST_DEVICE void operator()(Block& block) const {
    const std::int64_t column = block.index() * kMaxThreads + block.thread();
    if (column >= n) {
      return;
    }
    float total = 0.0f;
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      total += partial[chunk * n + column];
    }
    store(to + column, accumulate ? load(to + column) + total : total);
  }
};

// positions_grad [sequence, h] (+)= sum over sequences of out_grad. A thread per element.
// Bytes moved: out_grad once, positions_grad once or, accumulating, twice.
template <class T, class G>
struct PositionBackward {
  static constexpr int kMaxThreads = 256;
  static constexpr int kBlocksPerProcessor = 4;

  const T* out_grad;
  G* positions_grad;
  std::int64_t t, h, sequence;
  bool accumulate;

  LaunchShape shape() const { return {pieces(sequence * h, kMaxThreads), kMaxThreads, 0}; }
  template <class Block>
  TRAINYARD_HOST_DEVICE void operator()(Block& block) const {
    const std::int64_t at = block.index() * kMaxThreads + block.thread();
    if (at >= sequence * h) {
      return;
    }
    float total = accumulate ? load(positions_grad + at) : 0.0f;
    for (std::int64_t i = at; i < t * h; i += sequence * h) {
      total += load(out_grad + i);
    }
    store(positions_grad + at, total);
  }
};

// table_grad[token[i] - first_row] += out_grad[i], in the order of i: the block of a token's first place adds all
// places of that token, the others end. Each block reads the tokens (4 t bytes, from L2); out_grad is read once, the
// rows of the table that occur are read and written once.
template <class T, class G>
struct EmbedBackward {
  static constexpr int kMaxThreads = 256;
  static constexpr int kBlocksPerProcessor = 4;
  static constexpr int kWarps = kMaxThreads / kWarp;

  const std::int32_t* tokens;
  const T* out_grad;
  G* table_grad;
  std::int64_t t, h, first_row, rows;

  LaunchShape shape() const { return {t, kMaxThreads, (kMaxThreads + kWarps + 1) * static_cast<int>(sizeof(int))}; }

  template <class Block>
  TRAINYARD_HOST_DEVICE void operator()(Block& block) const {
    const std::int64_t mine = block.index();
    const std::int32_t token = tokens[mine];
    const std::int64_t row = embedding_row(token, first_row, rows);
    if (row < 0) {
      return;
    }
    auto* places = static_cast<int*>(block.shared());  // of this token among the 256 looked at, in order
    int* counts = places + kMaxThreads;                // by warp; then whether the token occurred before
    if (occurred_before(block, counts + kWarps, mine, token)) {
      return;
    }
    for (std::int64_t begin = mine / kMaxThreads * kMaxThreads; begin < t; begin += kMaxThreads) {
      const int found = find(block, places, counts, begin, mine, token);
      for (std::int64_t i = block.thread(); found > 0 && i < h; i += block.threads()) {
        float sum = load(table_grad + row * h + i);
        for (int place = 0; place < found; ++place) {
          sum += load(out_grad + (begin + places[place]) * h + i);
        }
        store(table_grad + row * h + i, sum);
      }
    }
  }

 private:
  template <class Block>
  TRAINYARD_HOST_DEVICE bool occurred_before(Block& block, int* flag, std::int64_t mine, std::int32_t token) const {
    if (block.thread() == 0) {
      *flag = 0;
    }
    block.sync();
    for (std::int64_t i = block.thread(); i < mine; i += block.threads()) {
      if (tokens[i] == token) {
        *flag = 1;  // whoever finds it writes the same
      }
    }
    block.sync();
    return *flag != 0;
  }

  // The token's places from `mine` on among [begin, begin + 256), ascending. How many.
  template <class Block>
  TRAINYARD_HOST_DEVICE int find(Block& block, int* places, int* counts, std::int64_t begin, std::int64_t mine,
                                 std::int32_t token) const {
    const std::int64_t at = begin + block.thread();
    const bool here = at >= mine && at < t && tokens[at] == token;
    const unsigned bits = block.ballot(here);
    const int warp = block.thread() / kWarp;
    block.sync();  // the places before have been read
    if (block.thread() % kWarp == 0) {
      counts[warp] = std::popcount(bits);
    }
    block.sync();
    int before = 0;
    int total = 0;
    for (int other = 0; other < kWarps; ++other) {
      before += other < warp ? counts[other] : 0;
      total += counts[other];
    }
    if (here) {
      places[before + std::popcount(bits & ((1U << (block.thread() % kWarp)) - 1U))] = block.thread();
    }
    block.sync();
    return total;
  }
};

}  // namespace trainyard::executor
