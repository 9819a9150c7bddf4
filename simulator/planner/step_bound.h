// StepBound: a step takes at least this long, however well it overlaps: what lets a search skip a layout unpriced.
//
//   bound = [ (1 + r) F_l / R_l + F_h / R_h + F_a / R_a ] / ranks x (1 + (p - 1) / (v m))
//
//   F_l, F_h, F_a  FLOPs of a step in products of layers, in the head, in causal attention scores
//   R_l, R_h, R_a  rates that the largest products and the attention kernel reach (machine_rates.h)
//   r              forward run again: a third of the layers' / every
//   last           the bubble of GPipe, 1F1B and interleaved stages (Narayanan et al. 2021, section 2.2); 1 for others
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
  // types: a layout with the compute type.
  StepBound(const Workload& workload, const Machine& machine, const Layout& types);

  Seconds of(const Layout& layout) const;

 private:
  double layers_ = 0.0;  // s of a step on one rank at its best
  double rest_ = 0.0;    // head and scores
};

}  // namespace trainyard::simulator
