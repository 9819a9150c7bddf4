// The pipeline's share of a step: what the slowest stage doesn't spend computing.
//
//   step = ga smax + bubble + ga vpp p2p + fill        smax: the slowest stage's forward and backward, one micro-batch
//   bubble   gpipe, 1f1b    sum of stages - smax                     = (pp - 1)(f + b) for equal stages
//            interleaved    (sum of stages - smax) / vpp
//            zb-h1          x (f + b_in)/(f + b_in + b_w) - b_w's     (pp - 1)(f + b_in - b_w + ...)
//   equal stages: 1f1b (pp-1)(f+i+w), zb-h1 (pp-1)(f+i-w), zb-h2 (pp-1)(f+i-2w), zb-v (pp-1)(f+i-2w)/2 at least,
//   dualpipe (pp/2-1)(f+2i-w); none below zero. f forward, i backward to inputs, w backward to weights.
//   fill     (pp - 1) p2p vpp / vpp: transfers of the first micro-batch's way
// Source: Narayanan et al. 2021 (interleaved), Qi et al. 2023 (zero bubble, table 1), DeepSeek-V3 (dualpipe, table 2).
#pragma once

#include "core/layout/layout.h"
#include "core/units/quantity.h"

namespace trainyard::simulator {

// Of all stages together, one micro-batch; recomputation counts as backward to inputs.
struct StageTimes {
  Seconds forward;  // sums over stages
  Seconds input;
  Seconds weight;
  Seconds slowest;  // the largest stage's total
  int stages = 1;
  Seconds sum() const { return forward + input + weight; }
};

// Fill and drain, without transfers.
Seconds bubble_time(ScheduleKind schedule, int chunks_per_stage, const StageTimes& stages);

}  // namespace trainyard::simulator
