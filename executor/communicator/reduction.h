// Element-wise sums and maxima of received data.
//
//   accumulate           into[i] = op(into[i], from[i])
//   accumulate_in_order  out[i] = op(...op(op(inputs[0][i], inputs[1][i]), inputs[2][i])...)
//
// Types fp32 (and tf32, which is stored as fp32), fp64, int32, int64; others throw Error. One pass over memory.
#pragma once

#include <cstdint>
#include <span>

#include "core/program/data_type.h"

namespace trainyard::executor {

// Throws Error if sums of this type are not to be had.
void require_reducible(DataType type);

// into and from do not overlap.
void accumulate(void* into, const void* from, std::int64_t elements, DataType type, ReduceOp op);

// out may be one of the inputs.
void accumulate_in_order(std::span<const void* const> inputs, void* out, std::int64_t elements, DataType type,
                         ReduceOp op);

}  // namespace trainyard::executor
