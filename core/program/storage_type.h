// The type of what products in a compute type read and write: tf32 is a way to multiply numbers that are stored in
// fp32.
#pragma once

#include "core/program/data_type.h"

namespace trainyard {

constexpr DataType storage_type(DataType compute) { return compute == DataType::kTf32 ? DataType::kFp32 : compute; }

}  // namespace trainyard
