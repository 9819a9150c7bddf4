// Attention on the CPU, one (sequence, query head) and query tile at a time (core/program/operation.h): the
// scores of a tile stay in cache and are computed again in the backward pass.
//
//   forward   S = Q K^T,  P = softmax(scale S),  O = P V
//   backward  dV = P^T dO,  dP = dO V^T,  dS = scale P (dP - rowsum(dO O)),  dQ = dS K,  dK = dS^T Q
//
// A causal tile's products cover the keys that its last row sees; rows above it mask the rest.
#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "executor/device/cpu_kernels.h"
#include "executor/device/vector_clones.h"
#include "executor/kernel/serial_group.h"
#include "executor/kernel/softmax.h"

namespace trainyard::executor::cpu {

namespace {

constexpr SerialGroup kGroup;

// Strides, in floats, of the arrays that device.h documents.
struct Geometry {
  explicit Geometry(const Attention& attention)
      : a(attention),
        out_width(a.query_heads * a.head_size),
        width(out_width + 2 * a.key_heads * a.head_size),
        scale(1.0f / std::sqrt(static_cast<float>(a.head_size))) {
    check(a.queries == a.keys, "queries, keys and values share the rows of qkv");
    check(a.key_heads > 0 && a.query_heads % a.key_heads == 0, "query heads are a multiple of key heads");
  }

  const Attention& a;
  std::int64_t out_width;
  std::int64_t width;
  float scale;

  std::int64_t group_size() const { return a.query_heads / a.key_heads; }
  std::int64_t query(std::int64_t sequence, std::int64_t head, std::int64_t row) const {
    return (sequence * a.queries + row) * width + head * a.head_size;
  }
  std::int64_t key(std::int64_t sequence, std::int64_t key_head) const {
    return sequence * a.keys * width + out_width + key_head * a.head_size;
  }
  std::int64_t value(std::int64_t sequence, std::int64_t key_head) const {
    return key(sequence, key_head) + a.key_heads * a.head_size;
  }
  std::int64_t out(std::int64_t sequence, std::int64_t head, std::int64_t row) const {
    return (sequence * a.queries + row) * out_width + head * a.head_size;
  }
  std::int64_t statistics(std::int64_t sequence, std::int64_t head, std::int64_t row) const {
    return (sequence * a.query_heads + head) * a.queries + row;
  }
  std::int64_t scores() const { return std::min(a.query_tile, a.queries) * a.keys; }
  // Keys that a tile's row sees.
  std::int64_t visible(const AttentionTile& tile, std::int64_t row) const {
    return a.mask == AttentionMask::kCausal ? std::min(tile.keys, tile.first_row + row + 1) : tile.keys;
  }
};

TRAINYARD_VECTOR_CLONES void softmax_rows(const Geometry& at, const AttentionTile& tile, float* scores,
                                          float* log_sum_exp, float* inverse_sums) {
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    const SoftmaxRow result = softmax_row(kGroup, scores + row * tile.keys, at.scale, at.visible(tile, row), tile.keys);
    log_sum_exp[row] = result.log_sum_exp;
    inverse_sums[row] = 1.0f / result.sum;
  }
}

TRAINYARD_VECTOR_CLONES void scale_rows(float* rows, std::int64_t stride, std::int64_t count, std::int64_t width,
                                        const float* factors) {
  for (std::int64_t row = 0; row < count; ++row) {
    float* values = rows + row * stride;
    const float factor = factors[row];
    kGroup.each(width, [&](std::int64_t i) { values[i] *= factor; });
  }
}

TRAINYARD_VECTOR_CLONES void softmax_again_rows(const Geometry& at, const AttentionTile& tile, float* scores,
                                                const float* log_sum_exp) {
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    softmax_again_row(kGroup, scores + row * tile.keys, at.scale, log_sum_exp[row], at.visible(tile, row), tile.keys);
  }
}

TRAINYARD_VECTOR_CLONES void score_gradient_rows(const Geometry& at, const AttentionTile& tile, const float* weights,
                                                 float* weight_grad, const float* out, const float* out_grad) {
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    const float* o = out + row * at.out_width;
    const float* d = out_grad + row * at.out_width;
    const float delta = kGroup.sum(at.a.head_size, [&](std::int64_t i) { return o[i] * d[i]; });
    softmax_backward_row(kGroup, weights + row * tile.keys, weight_grad + row * tile.keys, at.scale, delta, tile.keys);
  }
}

void forward_tile(const Geometry& at, ScratchPool& scratch, MatrixProductCounter& counter, std::int64_t sequence,
                  std::int64_t head, const AttentionTile& tile, const float* qkv, float* out, float* log_sum_exp) {
  const std::int64_t key_head = head / at.group_size();
  const std::int64_t d = at.a.head_size;
  const ScratchPool::Lease lease(scratch, at.scores() + at.a.query_tile);
  float* scores = lease.data();
  float* inverse_sums = scores + at.scores();
  float* o = out + at.out(sequence, head, tile.first_row);
  multiply({Transpose::kNT, tile.rows, tile.keys, d, qkv + at.query(sequence, head, tile.first_row), at.width,
            qkv + at.key(sequence, key_head), at.width, scores, tile.keys, false},
           counter);
  softmax_rows(at, tile, scores, log_sum_exp + at.statistics(sequence, head, tile.first_row), inverse_sums);
  multiply({Transpose::kNN, tile.rows, d, tile.keys, scores, tile.keys, qkv + at.value(sequence, key_head), at.width, o,
            at.out_width, false},
           counter);
  scale_rows(o, at.out_width, tile.rows, d, inverse_sums);
}

struct BackwardOperands {
  const float* qkv;
  const float* out;
  const float* log_sum_exp;
  const float* out_grad;
  float* qkv_grad;
};

// first: writes the gradients of keys and values instead of adding to them.
void backward_tile(const Geometry& at, float* scores, MatrixProductCounter& counter, std::int64_t sequence,
                   std::int64_t head, const AttentionTile& tile, const BackwardOperands& x, bool first) {
  const std::int64_t key_head = head / at.group_size();
  const std::int64_t d = at.a.head_size, rows = tile.rows, keys = tile.keys, width = at.width;
  const std::int64_t query = at.query(sequence, head, tile.first_row);
  const std::int64_t key = at.key(sequence, key_head), value = at.value(sequence, key_head);
  const float* out = x.out + at.out(sequence, head, tile.first_row);
  const float* out_grad = x.out_grad + at.out(sequence, head, tile.first_row);
  float* weights = scores;
  float* score_grad = scores + at.scores();
  multiply({Transpose::kNT, rows, keys, d, x.qkv + query, width, x.qkv + key, width, weights, keys, false}, counter);
  softmax_again_rows(at, tile, weights, x.log_sum_exp + at.statistics(sequence, head, tile.first_row));
  multiply({Transpose::kTN, keys, d, rows, weights, keys, out_grad, at.out_width, x.qkv_grad + value, width, !first},
           counter);
  multiply({Transpose::kNT, rows, keys, d, out_grad, at.out_width, x.qkv + value, width, score_grad, keys, false},
           counter);
  score_gradient_rows(at, tile, weights, score_grad, out, out_grad);
  multiply({Transpose::kNN, rows, d, keys, score_grad, keys, x.qkv + key, width, x.qkv_grad + query, width, false},
           counter);
  multiply({Transpose::kTN, keys, d, rows, score_grad, keys, x.qkv + query, width, x.qkv_grad + key, width, !first},
           counter);
}

}  // namespace

void attention_forward(ThreadPool& pool, ScratchPool& scratch, MatrixProductCounter& counter,
                       const Attention& attention, const float* qkv, float* out, float* log_sum_exp) {
  const Geometry at(attention);
  const std::int64_t tiles = attention_tiles(attention);
  pool.for_each_tile(attention.sequences * attention.query_heads * tiles, [&](std::int64_t index) {
    const std::int64_t head = index / tiles;
    forward_tile(at, scratch, counter, head / attention.query_heads, head % attention.query_heads,
                 attention_tile(attention, index % tiles), qkv, out, log_sum_exp);
  });
}

void attention_backward(ThreadPool& pool, ScratchPool& scratch, MatrixProductCounter& counter,
                        const Attention& attention, const float* qkv, const float* out, const float* log_sum_exp,
                        const float* out_grad, float* qkv_grad) {
  const Geometry at(attention);
  const std::int64_t tiles = attention_tiles(attention);
  const BackwardOperands operands{qkv, out, log_sum_exp, out_grad, qkv_grad};
  // A key head is one piece of work: all its query heads and tiles add to the same gradients, in fixed order.
  pool.for_each_tile(attention.sequences * attention.key_heads, [&](std::int64_t index) {
    const std::int64_t sequence = index / attention.key_heads;
    const std::int64_t first_head = index % attention.key_heads * at.group_size();
    const ScratchPool::Lease lease(scratch, 2 * at.scores());
    for (std::int64_t head = first_head; head < first_head + at.group_size(); ++head) {
      // From the last tile, which sees all keys and so writes every row of their gradients.
      for (std::int64_t tile = tiles - 1; tile >= 0; --tile) {
        backward_tile(at, lease.data(), counter, sequence, head, attention_tile(attention, tile), operands,
                      head == first_head && tile == tiles - 1);
      }
    }
  });
}

}  // namespace trainyard::executor::cpu
