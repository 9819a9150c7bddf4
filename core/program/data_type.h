// Element types of tensors, and what sums them.
#pragma once

#include <cstdint>
#include <string_view>

namespace trainyard {

enum class DataType : std::uint8_t { kFp32, kTf32, kFp16, kBf16, kFp8, kMxFp8, kNvFp4, kFp64, kInt32, kInt64 };

// Bytes of one stored element, rounded down. tf32 is a matmul mode over stored fp32; fp8 has one scale a tensor,
// mxfp8 one of 8 bits for 32 elements (OCP Microscaling 1.0), nvfp4 one of 8 bits for 16 of 4 bits: see
// stored_bytes().
constexpr std::int64_t size_of(DataType type) {
  switch (type) {
    case DataType::kFp64:
    case DataType::kInt64:
      return 8;
    case DataType::kFp32:
    case DataType::kTf32:
    case DataType::kInt32:
      return 4;
    case DataType::kFp16:
    case DataType::kBf16:
      return 2;
    case DataType::kFp8:
    case DataType::kMxFp8:
      return 1;
    case DataType::kNvFp4:
      return 0;
  }
  return 4;
}

// Bytes of an element with its share of the scales.
constexpr double stored_bytes(DataType type) {
  switch (type) {
    case DataType::kMxFp8:
      return 1.0 + 1.0 / 32.0;
    case DataType::kNvFp4:
      return 0.5 + 1.0 / 16.0;
    default:
      return static_cast<double>(size_of(type));
  }
}

std::string_view to_string(DataType type);  // "fp32", "bf16", ...

enum class ReduceOp : std::uint8_t { kSum, kMax };

}  // namespace trainyard
