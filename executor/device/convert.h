// Arrays of host memory between fp32 and a 16-bit type, vectorised.
#pragma once

#include <cstdint>

#include "executor/device/values.h"

namespace trainyard::executor {

void widen(const Bfloat16* from, float* to, std::int64_t elements);  // exact
void widen(const Float16* from, float* to, std::int64_t elements);
void narrow(const float* from, Bfloat16* to, std::int64_t elements);  // to the nearest, ties to even
void narrow(const float* from, Float16* to, std::int64_t elements);

// By the type of the array.
void to_floats(ConstValues from, float* to, std::int64_t elements);
void from_floats(const float* from, Values to, std::int64_t elements);

}  // namespace trainyard::executor
