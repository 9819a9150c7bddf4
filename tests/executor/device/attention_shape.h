// Attention of so many sequences of one length, as the tests of its devices have it: tiles of 16 queries.
#pragma once

#include <cstdint>

#include "core/program/operation.h"

namespace trainyard::executor {

inline Attention attention_shape(std::int64_t sequences, std::int64_t heads, std::int64_t key_heads,
                                 std::int64_t length, std::int64_t size, AttentionMask mask = AttentionMask::kCausal,
                                 std::int64_t window = 0) {
  return {.sequences = sequences,
          .query_heads = heads,
          .key_heads = key_heads,
          .queries = length,
          .keys = length,
          .head_size = size,
          .mask = mask,
          .query_tile = 16,
          .window = window};
}

}  // namespace trainyard::executor
