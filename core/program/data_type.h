// Element types of tensors, and what sums them.
#pragma once

#include <cstdint>
#include <string_view>

namespace trainyard {

enum class DataType : std::uint8_t { kFp32, kTf32, kFp16, kBf16, kFp8, kFp64, kInt32, kInt64 };

// Bytes of one stored element. tf32 is a matmul mode over stored fp32.
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
      return 1;
  }
  return 4;
}

std::string_view to_string(DataType type);  // "fp32", "bf16", ...

enum class ReduceOp : std::uint8_t { kSum, kMax };

}  // namespace trainyard
