// Attention's operands on a GPU: addresses within the arrays that device.h documents, and which keys a query sees.
//
// A query tile is kTile rows of one (sequence, query head); keys come in tiles of kTile rows as well.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/program/operation.h"
#include "executor/kernel/host_device.h"

namespace trainyard::executor {

struct AttentionShape {
  explicit AttentionShape(const Attention& a)
      : sequences(a.sequences),
        heads(a.query_heads),
        key_heads(a.key_heads),
        rows(a.queries),
        head_size(a.head_size),
        value_size(a.values()),
        window(a.window),
        causal(a.mask == AttentionMask::kCausal),
        scale(1.0f / std::sqrt(static_cast<float>(a.head_size))) {}

  std::int64_t sequences, heads, key_heads, rows;
  std::int64_t head_size, value_size, window;
  bool causal;
  float scale;

  TRAINYARD_HOST_DEVICE std::int64_t out_width() const { return heads * value_size; }
  TRAINYARD_HOST_DEVICE std::int64_t width() const { return heads * head_size + key_heads * (head_size + value_size); }
  // First row of a sequence's head; rows are width() apart in qkv, out_width() in out.
  TRAINYARD_HOST_DEVICE std::int64_t query(std::int64_t sequence, std::int64_t head) const {
    return sequence * rows * width() + head * head_size;
  }
  TRAINYARD_HOST_DEVICE std::int64_t key(std::int64_t sequence, std::int64_t key_head) const {
    return sequence * rows * width() + (heads + key_head) * head_size;
  }
  TRAINYARD_HOST_DEVICE std::int64_t value(std::int64_t sequence, std::int64_t key_head) const {
    return sequence * rows * width() + (heads + key_heads) * head_size + key_head * value_size;
  }
  TRAINYARD_HOST_DEVICE std::int64_t out(std::int64_t sequence, std::int64_t head) const {
    return sequence * rows * out_width() + head * value_size;
  }
  TRAINYARD_HOST_DEVICE std::int64_t statistics(std::int64_t sequence, std::int64_t head) const {
    return (sequence * heads + head) * rows;
  }

  TRAINYARD_HOST_DEVICE bool sees(std::int64_t query_row, std::int64_t key_row) const {
    if (query_row >= rows || key_row >= rows) {
      return false;
    }
    return !causal || (key_row <= query_row && (window == 0 || query_row - key_row < window));
  }
  // Each of `count` queries from `query` on sees each of `key_count` keys from `key` on.
  TRAINYARD_HOST_DEVICE bool sees_all(std::int64_t query, int count, std::int64_t key, int key_count) const {
    if (query + count > rows || key + key_count > rows) {
      return false;
    }
    return !causal || (key + key_count <= query + 1 && (window == 0 || query + count - 1 - key < window));
  }
  // Keys [first, end) that any of the queries [begin, begin + count) sees.
  TRAINYARD_HOST_DEVICE std::int64_t first_key(std::int64_t begin) const {
    return causal && window > 0 && begin >= window ? begin - window + 1 : 0;
  }
  TRAINYARD_HOST_DEVICE std::int64_t end_key(std::int64_t begin, std::int64_t count) const {
    return causal && begin + count < rows ? begin + count : rows;
  }
  // Queries [first, end) that see any of the keys [begin, begin + count).
  TRAINYARD_HOST_DEVICE std::int64_t first_query(std::int64_t begin) const { return causal ? begin : 0; }
  TRAINYARD_HOST_DEVICE std::int64_t end_query(std::int64_t begin, std::int64_t count) const {
    const std::int64_t end = begin + count - 1 + window;
    return causal && window > 0 && end < rows ? end : rows;
  }
};

// Whether rows of these arrays can be copied 16 bytes at a time.
template <class T, class... Pointers>
bool whole_rows(const AttentionShape& at, const Pointers*... arrays) {
  constexpr std::int64_t kElements = 16 / static_cast<std::int64_t>(sizeof(T));
  const auto aligned = [](const void* array) { return reinterpret_cast<std::uintptr_t>(array) % 16 == 0; };
  return at.head_size % kElements == 0 && at.value_size % kElements == 0 && (aligned(arrays) && ...);
}

}  // namespace trainyard::executor
