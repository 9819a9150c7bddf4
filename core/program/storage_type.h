// What products in a compute type read and write, and what stays wider than they are.
#pragma once

#include "core/program/data_type.h"

namespace trainyard {

// The compute type outside a layer's products: fp8 and narrower types are for those alone, and stand beside bf16.
constexpr DataType wide_type(DataType compute) {
  const bool narrow = compute == DataType::kFp8 || compute == DataType::kMxFp8 || compute == DataType::kNvFp4;
  return narrow ? DataType::kBf16 : compute;
}

// Of tensors: tf32 is a way to multiply numbers that are stored in fp32, fp8 one to multiply numbers stored in bf16.
constexpr DataType storage_type(DataType compute) {
  return compute == DataType::kTf32 ? DataType::kFp32 : wide_type(compute);
}

}  // namespace trainyard
