// Attention on the CPU, one (sequence, query head) and query tile at a time (core/program/operation.h): the
// scores of a tile stay in cache and are computed again in the backward pass.
//
//   forward   S = Q K^T,  P = softmax(scale S),  O = P V
//   backward  dV = P^T dO,  dP = dO V^T,  dS = scale P (dP - rowsum(dO O)),  dQ = dS K,  dK = dS^T Q
//
// Scores, weights and sums are fp32 whatever the type of queries, keys and values.
//
// A causal tile's products cover the keys that its last row sees; rows above it mask the rest.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "core/error.h"
#include "executor/device/convert.h"
#include "executor/device/cpu_kernels.h"
#include "executor/device/element_type.h"
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

// Rows of fp32 with a stride, in floats.
template <class Float>
struct Rows {
  Float* data = nullptr;
  std::int64_t stride = 0;
};

// Operands of the tile's products are fp32: read and written in place, or, of a narrower type, by way of scratch
// memory, which moves on by what they take.
Rows<const float> read_rows(const float* from, std::int64_t stride, std::int64_t, std::int64_t, float*&) {
  return {from, stride};
}
template <class T>
Rows<const float> read_rows(const T* from, std::int64_t stride, std::int64_t rows, std::int64_t columns,
                            float*& scratch) {
  float* to = scratch;
  for (std::int64_t row = 0; row < rows; ++row) {
    widen(from + row * stride, to + row * columns, columns);
  }
  scratch += rows * columns;
  return {to, columns};
}
Rows<float> place_rows(float* to, std::int64_t stride, std::int64_t, std::int64_t, float*&) { return {to, stride}; }
template <class T>
Rows<float> place_rows(T*, std::int64_t, std::int64_t rows, std::int64_t columns, float*& scratch) {
  float* to = scratch;
  scratch += rows * columns;
  return {to, columns};
}
void finish_rows(Rows<float>, float*, std::int64_t, std::int64_t, std::int64_t) {}
template <class T>
void finish_rows(Rows<float> from, T* to, std::int64_t stride, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t row = 0; row < rows; ++row) {
    narrow(from.data + row * from.stride, to + row * stride, columns);
  }
}

// Scratch of `rows` rows of a head.
template <class T>
std::int64_t staging(const Geometry& at, std::int64_t rows) {
  return std::is_same_v<T, float> ? 0 : rows * at.a.head_size;
}

TRAINYARD_VECTOR_CLONES void score_gradient_rows(const Geometry& at, const AttentionTile& tile, const float* weights,
                                                 float* weight_grad, Rows<const float> out,
                                                 Rows<const float> out_grad) {
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    const float* o = out.data + row * out.stride;
    const float* d = out_grad.data + row * out_grad.stride;
    const float delta = kGroup.sum(at.a.head_size, [&](std::int64_t i) { return o[i] * d[i]; });
    softmax_backward_row(kGroup, weights + row * tile.keys, weight_grad + row * tile.keys, at.scale, delta, tile.keys);
  }
}

template <class T>
void forward_tile(const Geometry& at, ScratchPool& scratch, MatrixProductCounter& counter, std::int64_t sequence,
                  std::int64_t head, const AttentionTile& tile, const T* qkv, T* out, float* log_sum_exp) {
  const std::int64_t key_head = head / at.group_size();
  const std::int64_t d = at.a.head_size, rows = tile.rows, keys = tile.keys;
  const ScratchPool::Lease lease(scratch,
                                 at.scores() + at.a.query_tile + staging<T>(at, 2 * at.a.query_tile + 2 * at.a.keys));
  float* scores = lease.data();
  float* inverse_sums = scores + at.scores();
  float* room = inverse_sums + at.a.query_tile;
  T* to = out + at.out(sequence, head, tile.first_row);
  const auto q = read_rows(qkv + at.query(sequence, head, tile.first_row), at.width, rows, d, room);
  const auto k = read_rows(qkv + at.key(sequence, key_head), at.width, keys, d, room);
  const auto v = read_rows(qkv + at.value(sequence, key_head), at.width, keys, d, room);
  const auto o = place_rows(to, at.out_width, rows, d, room);
  multiply({Transpose::kNT, rows, keys, d, q.data, q.stride, k.data, k.stride, scores, keys, false}, counter);
  softmax_rows(at, tile, scores, log_sum_exp + at.statistics(sequence, head, tile.first_row), inverse_sums);
  multiply({Transpose::kNN, rows, d, keys, scores, keys, v.data, v.stride, o.data, o.stride, false}, counter);
  scale_rows(o.data, o.stride, rows, d, inverse_sums);
  finish_rows(o, to, at.out_width, rows, d);
}

template <class T>
struct BackwardOperands {
  const T* qkv;
  const T* out;
  const float* log_sum_exp;
  const T* out_grad;
  T* qkv_grad;
};

// A key head's keys and values with their gradients, which its query heads add to.
struct KeyHead {
  Rows<const float> key, value;
  Rows<float> key_grad, value_grad;
};

// first: writes the gradients of keys and values instead of adding to them.
template <class T>
void backward_tile(const Geometry& at, float* scores, float* room, MatrixProductCounter& counter, std::int64_t sequence,
                   std::int64_t head, const AttentionTile& tile, const BackwardOperands<T>& x, const KeyHead& of,
                   bool first) {
  const std::int64_t d = at.a.head_size, rows = tile.rows, keys = tile.keys;
  const std::int64_t query = at.query(sequence, head, tile.first_row);
  const std::int64_t out_row = at.out(sequence, head, tile.first_row);
  const auto q = read_rows(x.qkv + query, at.width, rows, d, room);
  const auto out = read_rows(x.out + out_row, at.out_width, rows, d, room);
  const auto out_grad = read_rows(x.out_grad + out_row, at.out_width, rows, d, room);
  const auto query_grad = place_rows(x.qkv_grad + query, at.width, rows, d, room);
  float* weights = scores;
  float* score_grad = scores + at.scores();
  multiply({Transpose::kNT, rows, keys, d, q.data, q.stride, of.key.data, of.key.stride, weights, keys, false},
           counter);
  softmax_again_rows(at, tile, weights, x.log_sum_exp + at.statistics(sequence, head, tile.first_row));
  multiply({Transpose::kTN, keys, d, rows, weights, keys, out_grad.data, out_grad.stride, of.value_grad.data,
            of.value_grad.stride, !first},
           counter);
  multiply({Transpose::kNT, rows, keys, d, out_grad.data, out_grad.stride, of.value.data, of.value.stride, score_grad,
            keys, false},
           counter);
  score_gradient_rows(at, tile, weights, score_grad, out, out_grad);
  multiply({Transpose::kNN, rows, d, keys, score_grad, keys, of.key.data, of.key.stride, query_grad.data,
            query_grad.stride, false},
           counter);
  multiply(
      {Transpose::kTN, keys, d, rows, score_grad, keys, q.data, q.stride, of.key_grad.data, of.key_grad.stride, !first},
      counter);
  finish_rows(query_grad, x.qkv_grad + query, at.width, rows, d);
}

// All query heads and tiles of a key head add to the same gradients, in fixed order.
template <class T>
void backward_key_head(const Geometry& at, ScratchPool& scratch, MatrixProductCounter& counter, std::int64_t sequence,
                       std::int64_t key_head, const BackwardOperands<T>& x) {
  const std::int64_t d = at.a.head_size, keys = at.a.keys, tiles = attention_tiles(at.a);
  const std::int64_t key = at.key(sequence, key_head), value = at.value(sequence, key_head);
  const ScratchPool::Lease lease(scratch, 2 * at.scores() + staging<T>(at, 4 * keys + 4 * at.a.query_tile));
  float* room = lease.data() + 2 * at.scores();
  KeyHead of;
  of.key = read_rows(x.qkv + key, at.width, keys, d, room);
  of.value = read_rows(x.qkv + value, at.width, keys, d, room);
  of.key_grad = place_rows(x.qkv_grad + key, at.width, keys, d, room);
  of.value_grad = place_rows(x.qkv_grad + value, at.width, keys, d, room);
  const std::int64_t first_head = key_head * at.group_size();
  for (std::int64_t head = first_head; head < first_head + at.group_size(); ++head) {
    // From the last tile, which sees all keys and so writes every row of their gradients.
    for (std::int64_t tile = tiles - 1; tile >= 0; --tile) {
      backward_tile(at, lease.data(), room, counter, sequence, head, attention_tile(at.a, tile), x, of,
                    head == first_head && tile == tiles - 1);
    }
  }
  finish_rows(of.key_grad, x.qkv_grad + key, at.width, keys, d);
  finish_rows(of.value_grad, x.qkv_grad + value, at.width, keys, d);
}

}  // namespace

void attention_forward(ThreadPool& pool, ScratchPool& scratch, MatrixProductCounter& counter,
                       const Attention& attention, ConstValues qkv, Values out, float* log_sum_exp) {
  const Geometry at(attention);
  const std::int64_t tiles = attention_tiles(attention);
  with_element_type(common_type({qkv, out}), [&]<class T>(T) {
    pool.for_each_tile(attention.sequences * attention.query_heads * tiles, [&](std::int64_t index) {
      const std::int64_t head = index / tiles;
      forward_tile(at, scratch, counter, head / attention.query_heads, head % attention.query_heads,
                   attention_tile(attention, index % tiles), qkv.as<T>(), out.as<T>(), log_sum_exp);
    });
  });
}

void attention_backward(ThreadPool& pool, ScratchPool& scratch, MatrixProductCounter& counter,
                        const Attention& attention, ConstValues qkv, ConstValues out, const float* log_sum_exp,
                        ConstValues out_grad, Values qkv_grad) {
  const Geometry at(attention);
  with_element_type(common_type({qkv, out, out_grad, qkv_grad}), [&]<class T>(T) {
    const BackwardOperands<T> operands{qkv.as<T>(), out.as<T>(), log_sum_exp, out_grad.as<T>(), qkv_grad.as<T>()};
    pool.for_each_tile(attention.sequences * attention.key_heads, [&](std::int64_t index) {
      backward_key_head(at, scratch, counter, index / attention.key_heads, index % attention.key_heads, operands);
    });
  });
}

}  // namespace trainyard::executor::cpu
