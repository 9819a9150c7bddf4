// The end of a step: gradients reduced, parameters updated and gathered; and what ZeRO 3 moves in every micro-batch.
//
//   reduce   ZeRO 0 all-reduce, 1 and 2 reduce-scatter over dp x cp, of gradient bytes; experts over their own group
//   gather   ZeRO 1 and 2: all-gather of parameter bytes
//   update   34 bytes per owned parameter (weights, two moments, fp32 copy, gradient) and 8 per gradient (norm, clip)
//   hidden   with overlap: what fits behind one micro-batch's backward (reduce) or forward (gather), times the stack's
//            overlap; the last bucket never
//   ZeRO 2   holds a share of the gradients only: a reduce-scatter per micro-batch, hidden as ZeRO 3's
//   ZeRO 3   per micro-batch two gathers and a reduce-scatter, hidden behind its compute but for the stack's overlap:
//            max(compute, communication) + (1 - o) min(compute, communication)
//   dualpipe its share of the gradients summed with the rank's mirror image, which holds the same two stages
//   offload  optimizer: gradients down, parameters up, over PCIe, and the host's update at its memory's speed
// Source: Rajbhandari et al. 2020 (ZeRO), Zhao et al. 2023 (FSDP); byte counts: Adam in mixed precision.
#pragma once

#include "core/layout/layout.h"
#include "simulator/throughput/layer_time.h"

namespace trainyard::simulator {

// Parameters that one rank holds before ZeRO shards them.
struct RankParameters {
  double dense = 0.0;
  double experts = 0.0;
};

struct UpdateTime {
  Seconds gradient;   // not hidden
  Seconds parameter;  // not hidden
  Seconds optimizer;
  Seconds offload;
};

struct UpdateWindows {
  Seconds forward;   // of one micro-batch on the stage
  Seconds backward;  // ...
};

class UpdatePricer {
 public:
  UpdatePricer(const MachineRates& rates, const GroupCost& groups, const Layout& layout, const LayoutGroups& shapes)
      : rates_(rates), groups_(groups), layout_(layout), shapes_(shapes) {}

  UpdateTime step(const RankParameters& parameters, const UpdateWindows& windows) const;
  // ZeRO 2 and 3, per micro-batch: what is not hidden behind `compute`.
  Seconds sharded(const RankParameters& parameters, Seconds compute) const;

 private:
  Seconds collective(CollectiveOp op, double bytes, const GroupShape& group) const;
  Seconds reduce(double bytes, const GroupShape& group) const;
  GroupShape mirrors() const;
  Seconds hidden(Seconds spent, double bytes, Seconds window) const;

  const MachineRates& rates_;
  const GroupCost& groups_;
  const Layout& layout_;
  const LayoutGroups& shapes_;
};

}  // namespace trainyard::simulator
