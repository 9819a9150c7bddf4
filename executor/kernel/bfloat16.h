// Elements as kernels see them: stored as fp32 or bf16 (or fp16, float16.h), computed in fp32.
//
//   load   exact: a bf16 is the upper half of an fp32
//   store  to the nearest, ties to even; NaN stays NaN
//
// Integer arithmetic without branches, so that loops over it vectorise on any CPU.
#pragma once

#include <bit>
#include <cstdint>

#include "executor/kernel/host_device.h"

namespace trainyard::executor {

struct Bfloat16 {
  std::uint16_t bits;
};

TRAINYARD_HOST_DEVICE inline float load(const float* from) { return *from; }
TRAINYARD_HOST_DEVICE inline float load(const Bfloat16* from) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(from->bits) << 16U);
}

TRAINYARD_HOST_DEVICE inline void store(float* to, float value) { *to = value; }
TRAINYARD_HOST_DEVICE inline void store(Bfloat16* to, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = bits + 0x7fffU + ((bits >> 16U) & 1U);
  // A NaN's payload could round up into infinity's pattern or the sign: made quiet instead.
  const bool nan = (bits & 0x7fffffffU) > 0x7f800000U;
  to->bits = static_cast<std::uint16_t>((nan ? bits | 0x400000U : rounded) >> 16U);
}

// `value` at element i = place, 0 elsewhere.
TRAINYARD_HOST_DEVICE inline float value_at(std::int64_t i, std::int64_t place, float value) {
  return i == place ? value : 0.0f;
}

}  // namespace trainyard::executor
