// What data parallelism adds to a step: gradients reduced, parameters updated and gathered.
//
//   reduce   ZeRO 0 all-reduce, 1 to 3 reduce-scatter over dp x cp, of gradient bytes; experts over their own group
//   gather   ZeRO 1 and 2: all-gather of parameter bytes, after the update; ZeRO 3: before each pass of a layer
//   update   34 bytes per owned parameter (weights, two moments, fp32 copy, gradient) and 8 per gradient that is held
//            once it is reduced (norm, clip)
//   beside   compute a and communication b: max(a, b) + (1 - o) min(a, b) c, o the stack's overlap, c the share of a
//            that is compute, not communication of tensors, contexts and experts
//   ZeRO 2   holds a share of the gradients only: a reduce-scatter per micro-batch, beside the weights' pass
//   ZeRO 3   per micro-batch a gather beside forward and backward each, and a reduce-scatter
//   ZeRO 0, 1  with overlap beside the last backward, but for the bucket that is complete last: the embedding's on the
//            stage that holds it; behind it without overlap
//   dualpipe its share of the gradients summed with the rank's mirror image, which holds the same two stages
//   copies   of the embedding's table on the last stage, for a tied head or multi-token blocks: its gradients, or the
//            rank's share of them under ZeRO, summed with the first stage's
//   offload  optimizer: gradients go down over PCIe beside the last backward; behind the norm the host updates bucket
//            by bucket, and each one's parameters go up, and are gathered, beside the update of the next
//            max(h, u) + s min(h, u), or where PCIe is slower d' + u + s h
//            h: host's update, u: parameters up, d': gradients down that backward doesn't hide, s: share of a bucket
// Source: Rajbhandari et al. 2020 (ZeRO), Zhao et al. 2023 (FSDP); byte counts: Adam in mixed precision.
#pragma once

#include <array>

#include "core/layout/layout.h"
#include "core/model/model_spec.h"
#include "simulator/throughput/layer_time.h"

namespace trainyard::simulator {

// Bytes that an update moves: Adam in mixed precision.
constexpr double kUpdateBytes = 34.0;  // per owned parameter
constexpr double kNormBytes = 8.0;     // per gradient

// What is left of `spent` in buckets behind a window of compute: max(spent / buckets, spent - o min(spent, window)).
// bytes: of all buckets.
Seconds left_behind(Seconds spent, Seconds window, double overlap, double bytes, ByteCount bucket);

// Parameters that one rank holds before ZeRO shards them.
struct RankParameters {
  double dense = 0.0;
  double experts = 0.0;
};

// Collectives over data parallelism of one layer's parameters, or of a table's.
struct DataTime {
  Seconds gather;     // before a pass: ZeRO 3
  Seconds reduce;     // of gradients: once a step, under ZeRO 2 and 3 once a micro-batch
  Seconds replicate;  // ... and once a step between the replicas of hybrid sharding
};

struct DataTimes {
  std::array<DataTime, 2> layer;  // dense, with experts
  DataTime table;                 // embedding or head
  DataTime merge;                 // a multi-token block's product
};

struct UpdateTime {
  Seconds mirror;     // DualPipe's exchange of gradients, or of a table's with its copy
  Seconds parameter;  // not hidden
  Seconds optimizer;
  Seconds offload;
};

class UpdatePricer {
 public:
  UpdatePricer(const MachineRates& rates, const GroupCost& groups, const Layout& layout, const LayoutGroups& shapes)
      : rates_(rates), groups_(groups), layout_(layout), shapes_(shapes) {}

  DataTimes data(const ModelSpec& model) const;
  // The end of the step; forward: of one micro-batch on the stage.
  // table: parameters of a copy of the embedding's table, 0 where no stage has one.
  UpdateTime step(const RankParameters& parameters, double table, Seconds forward) const;

 private:
  Seconds collective(CollectiveOp op, double bytes, const GroupShape& group) const;
  DataTime data(const RankParameters& parameters) const;
  Seconds in_buckets(CollectiveOp op, double bytes, const GroupShape& group) const;
  GroupShape mirrors() const;
  // all: parameters before ZeRO shards them.
  Seconds offloaded_update(double owned, double all, Seconds forward) const;

  const MachineRates& rates_;
  const GroupCost& groups_;
  const Layout& layout_;
  const LayoutGroups& shapes_;
};

}  // namespace trainyard::simulator
