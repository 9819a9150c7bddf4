// The pipeline's share of a step: what the slowest stage doesn't spend computing.
//
//   step = work of the slowest stage + what is left of it when the turns are played out (pipeline_play.h)
//
// A transfer takes x, twice that in DeepSpeed's engine, which slices less and sends and receives by turns; 0.35 x of it
// is left where the layout overlaps it. Stages wait for their transfers, all but those of zb-h2, zb-v and dualpipe,
// which have other work: a pass takes x longer, x/2 for each of its two transfers, as sends and receives of a step go
// together; of the first and the last chunk for its only one. Under the others a transfer is latency. The step ends
// when its slowest rank does, as the update waits for the gradient norm. Where the norm is looked at later (Qi et al.'s
// post-validation) ranks enter the next step as they come, and the first fill isn't paid in each. Bubble then, of equal
// stages with passes f forward, i backward to inputs, w backward to weights, none below zero:
//   zb-h1 (pp - 1)(f + i - w), zb-h2 (pp - 1)(f + i - 2w), zb-v (pp - 1)(f + i - 2w)/2
// Unequal stages: the others' mean times stand for f, i, w.
// Source: Qi et al. 2023, table 1.
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
  Seconds sum() const { return forward + input + weight; }
};

// Whether weight gradients have turns of their own.
bool weights_apart(const Layout& layout);

bool has_post_validation(const Layout& layout);
// Fill and drain under post-validation, without transfers.
Seconds post_validation_bubble(ScheduleKind schedule, const StageTimes& stages);

// Whether stages stand still while they send and receive.
bool waits_for_transfers(const Layout& layout);
// What a transfer takes of x: as latency, or of each of its two stages' time; sliced: Megatron-LM's way.
double transfer_share(const Layout& layout, bool sliced);
// Transfers in a row that a step waits for, at most: fill, drain, and one each way for every micro-batch.
double transfers_in_a_row(const Layout& layout);

}  // namespace trainyard::simulator
