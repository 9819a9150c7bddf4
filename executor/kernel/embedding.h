// Embedding over a slice of the vocabulary: rows [first_row, first_row + rows) of the table are here.
//
//   forward   out[i] = table[token[i] - first_row], or 0 when the token's row is elsewhere
//   backward  table_grad[token[i] - first_row] += out_grad[i]
//
// Bytes moved, per token of h, in fp32: forward 4 h read (0 when the row is elsewhere) + 4 h written; backward
// 8 h read + 4 h written. In bf16 half of it, but for a gradient that is kept in fp32.
#pragma once

#include <cstdint>

#include "executor/kernel/bfloat16.h"
#include "executor/kernel/host_device.h"

namespace trainyard::executor {

// Row of the slice that holds `token`, or -1.
TRAINYARD_HOST_DEVICE inline std::int64_t embedding_row(std::int32_t token, std::int64_t first_row, std::int64_t rows) {
  const std::int64_t row = token - first_row;
  return row >= 0 && row < rows ? row : -1;
}

// Table and output of one type: copied as they are.
template <class Group, class T>
TRAINYARD_HOST_DEVICE inline void embed_forward_row(const Group& group, const T* table, std::int64_t row, T* out,
                                                    std::int64_t h) {
  if (row < 0) {
    group.each(h, [&](auto i) { store(out + i, 0.0f); });
  } else {
    const T* source = table + row * h;
    group.each(h, [&](auto i) { store(out + i, load(source + i)); });
  }
}

}  // namespace trainyard::executor
