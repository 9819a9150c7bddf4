// The pipeline's share of a step: what the slowest stage doesn't spend computing.
//
//   step = ga smax + bubble + (ga vpp + pp - 1) transfers   smax: the slowest stage's pass, one micro-batch
//          zb-h2, zb-v, dualpipe: (pp - 1) transfers; there is other work while the others are under way
//
// Bubble, of equal stages with passes f forward, i backward to inputs, w backward to weights:
//   gpipe, 1f1b    (pp - 1)(f + i + w)
//   interleaved    (pp - 1)(f + i + w) / vpp
//   zb-h1          (pp - 1) max(f + i - w, i)
//   zb-h2          (pp - 1) max(f + i - 2w, f), at least (pp - 2) f + (2 pp - ga) i / 2
//   zb-v           (pp - 1) max(f, i, w) / 2, at least (pp - 1) i - (ga - pp) f
//   dualpipe       (pp/2 - 1) f + (pp - 4) max(i - w, 0)
// The step ends when its slowest rank does, as the update waits for the gradient norm. Where the norm is looked at
// later (Qi et al.'s post-validation) ranks enter the next step as they come, and the first fill isn't paid in each:
//   zb-h1 (pp - 1)(f + i - w), zb-h2 (pp - 1)(f + i - 2w), zb-v (pp - 1)(f + i - 2w)/2, none below zero
// Unequal stages: the others' mean times stand for f, i, w.
// Source: Narayanan et al. 2021 (interleaved); Qi et al. 2023, table 1 (post-validation); the rest from the turns of
// core/schedule played out without transfers, exact for f, i, w within a factor of two of each other
// (tests/simulator/throughput/pipeline_time_test.cpp).
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
  double micro_batches = 1.0;  // of a step: few leave zb-h2 and zb-v without work to fill with
  Seconds sum() const { return forward + input + weight; }
};

// Fill and drain, without transfers.
Seconds bubble_time(ScheduleKind schedule, int chunks_per_stage, bool post_validation, const StageTimes& stages);

}  // namespace trainyard::simulator
