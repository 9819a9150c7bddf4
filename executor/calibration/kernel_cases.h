// Which operations calibration times: shapes that plans of small models use, and points between them.
//
// Products: tokens x widths on a lattice of every second octave, and a low-discrepancy sequence (Halton 1960)
// of shapes that are not powers of two in between, for each storage order; accumulation with kTN, the only
// order that accumulates in a step. In fp32 and in bf16, a fifth of
// them in fp16 and fp8 (with the narrowing of its operands). Attention: lengths by head sizes, both passes.
// Elementwise: from a few kilobytes to tens of megabytes.
#pragma once

#include <vector>

#include "core/program/operation.h"

namespace trainyard::executor {

struct KernelCases {
  std::vector<Gemm> gemms;
  std::vector<Attention> attentions;
  std::vector<Elementwise> elementwise;
};

KernelCases calibration_cases();

// The same for a GPU: the products of models from 124M to 70B on thousands of tokens, attention over 512 to 8,192,
// passes of up to 256 MiB an operand.
KernelCases gpu_calibration_cases();

// Without those that a GPU of this compute capability (90: 9.0) can't run.
KernelCases runnable(KernelCases cases, int compute_capability);

// Bytes of a kernel per element of its main operand, as programs count them (core/program/segment_shape.cpp):
// for kernels whose operands vary, the usual form (a norm with a branch, SGD without momentum).
Elementwise elementwise_case(ElementwiseKernel kernel, std::int64_t elements);

}  // namespace trainyard::executor
