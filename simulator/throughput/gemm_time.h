// The time of a matrix product on a GPU.
//
//   t = max(2 m n k / (P e) (1 + k0/k + a u),  bytes / (HBM memory)) + t0
//
// P dense peak of the operands' type, e the share of it that large products reach, k0 the depth at which the loop over
// k costs as much as its start and end, u = 1 where n or k isn't a multiple of 64 (tiles and vector loads don't fit),
// t0 what small products lose and a launch. Tiles over SMs (waves) explain nothing more on published steps.
// Source: form and constants fitted to published step times, docs/cost_model.md.
#pragma once

#include "core/units/quantity.h"

namespace trainyard::simulator {

struct GemmRate {
  FlopsPerSecond reached;   // P e
  double depth = 0.0;       // k0
  double misaligned = 0.0;  // a
  Seconds overhead;         // t0
  BytesPerSecond memory;
  double operand_bytes = 2.0;
};

// m tokens by n outputs, over k inputs; counts are doubles, as sharding may leave fractions of a token.
struct GemmShape {
  double m = 0.0;
  double n = 0.0;
  double k = 0.0;
  Flops flops() const { return from_si<Flops>(2.0 * m * n * k); }
};

Seconds gemm_time(const GemmShape& shape, const GemmRate& rate);

// `count` products of the same shape in one launch: experts side by side. Few rows fill tiles of 128 badly.
Seconds grouped_gemm_time(const GemmShape& shape, double count, const GemmRate& rate);

}  // namespace trainyard::simulator
