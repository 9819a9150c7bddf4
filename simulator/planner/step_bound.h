// StepBound: a step takes at least this long, however well it overlaps: what lets a search skip a layout unpriced.
//
//   bound = [ F_w / (P e) + F_a / P ] / ranks x (1 + r) x (1 + (p - 1) / (v m))
//
//   F_w, F_a  FLOPs of a step in products with weights, and in causal attention scores
//   P         dense peak of the compute type (attention: of 16 bits, whatever the products' type)
//   e         the largest share of the peak that any product reaches with this machine's software
//   r         forward run again: every layer's third, 1/3 of layers / every; attention's scores left out
//   last      the bubble of GPipe, 1F1B and interleaved stages (Narayanan et al. 2021, section 2.2); 1 for the others
//
// Admissible: nothing that a cost model adds (shape, memory traffic, communication, imbalance, optimizer) makes it
// shorter. Tests hold StepModel to it.
#pragma once

#include "core/layout/layout.h"
#include "core/units/quantity.h"
#include "simulator/throughput/step_model.h"

namespace trainyard::simulator {

class StepBound {
 public:
  // best_share: e; 1 where nothing is known.
  StepBound(const Workload& workload, const Machine& machine, const Layout& types, double best_share);

  Seconds of(const Layout& layout) const;

 private:
  double weights_ = 0.0;  // s of a step on one rank at its best
  double layers_ = 0.0;   // of it, in layers: what recomputation runs again
  double scores_ = 0.0;
};

}  // namespace trainyard::simulator
