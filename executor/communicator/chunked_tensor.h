// ChunkedTensor: a tensor cut into a chunk per member of a group, and each chunk into slices.
//
//   chunk i = elements [boundaries[i], boundaries[i+1])             (core/program/wire.h)
//   slice k of it = up to slice_elements elements from boundaries[i] + k * slice_elements
//
// Chunks are what is counted as messages; slices only pace them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/program/data_type.h"

namespace trainyard::executor {

struct Slice {
  std::int64_t first = 0;  // element of the whole tensor
  std::int64_t elements = 0;
};

struct ChunkedTensor {
  std::byte* data = nullptr;
  std::span<const std::int64_t> boundaries;
  DataType type = DataType::kFp32;
  std::int64_t slice_elements = 1;

  std::int64_t elements() const { return boundaries.back(); }
  std::int64_t bytes(std::int64_t count) const { return count * size_of(type); }
  std::byte* at(std::int64_t element) const { return data + bytes(element); }

  Slice chunk(int member) const {
    return {boundaries[static_cast<std::size_t>(member)],
            boundaries[static_cast<std::size_t>(member) + 1] - boundaries[static_cast<std::size_t>(member)]};
  }
  std::int64_t slices(Slice whole) const { return (whole.elements + slice_elements - 1) / slice_elements; }
  Slice slice(Slice whole, std::int64_t k) const {
    const std::int64_t offset = k * slice_elements;
    return {whole.first + offset, std::min(slice_elements, whole.elements - offset)};
  }
};

}  // namespace trainyard::executor
