// What the project's own programs (core/program/layer_generator.h) hold at once in a pass, in closed form, bytes per
// token of a tensor-parallel group's micro-batch. With b bytes an activation, hidden h, tp t, norms' share c = t with
// sequence parallelism, else 1; up u and width w of a feed-forward, k experts a token:
//
//   gradients on their way   b (h / c + h [sp] + (u + w) / t + h)    in the feed-forward's backward
//                            b (h / c + k / c (2 etp h + u))         in the experts'
//   another rank's block     b (k + v) / t                           the last that ring attention had, for its backward
//   head                     2 b h / c                               its norm's input and output
//   wide                     b ((u + w) / t - h / c)                 of the flow, gone when weights' gradients begin
//
// A chunk's result, b h / c, stays until its gradient comes back (pipeline_transfers.h).
#pragma once

#include <array>

#include "core/layout/layout.h"
#include "core/model/layer_shape.h"

namespace trainyard::simulator {

double gradient_flow_bytes(const LayerShape& layer, const Layout& layout);
double wide_bytes(const LayerShape& layer, const Layout& layout);
double ring_block_bytes(const LayerShape& layer, const Layout& layout);

// Chunks of a stage whose result goes to another stage.
int sent_chunks(const Layout& layout, int stage);

// Micro-batches that a stage holds at its worst moment, and of them those whose weight gradients wait: in whole stages'
// worth. Where chunks face both ways the most of the one aren't there with the most of the other (stage s of p):
//
//   ZB-V       p and 1/2,        or (p + s) / 2 and s + 1/2
//   DualPipe   (p + 1) / 2 and 1/2,  or p / 4 and min(s + 1, p - s) / 2
//
// From the turns of core/schedule (test ProgramMemory.MomentsAreThoseOfTheTurns).
struct HeldPasses {
  double in_flight = 0.0;
  double deferred = 0.0;
};
std::array<HeldPasses, 2> worst_moments(const Layout& layout, int stage);

// Micro-batches of which the last stage's head holds logits at once: from forward to the weight gradient.
double heads_in_flight(const Layout& layout, double in_flight);

}  // namespace trainyard::simulator
