// How a CPU multiplies bf16 matrices.
#pragma once

#include <cstdint>

namespace trainyard::executor {

enum class Bf16Path : std::uint8_t {
  kFastest,  // of the two below; a choice by CPU, so that a run goes on with the same bits
  kNative,   // by the CPU's bf16 instructions, where it has them
  kWidened,  // operands widened to fp32, then sgemm
};

}  // namespace trainyard::executor
