// Two-level alpha-beta from published bandwidths; equations in collective_cost.h.
#pragma once

#include "simulator/collective/collective_cost.h"

namespace trainyard::simulator {

class AnalyticCollectives final : public CollectiveCost {
 public:
  explicit AnalyticCollectives(AnalyticProfile profile);
  Seconds time(CommunicationKind kind, CollectiveAlgorithm algorithm, ByteCount payload,
               GroupPlacement placement) const override;
  // None: the kernels' efficiencies were fitted on runs that overlap.
  OverlapSlowdown overlap(int group_size) const override;

 private:
  struct Level {
    BytesPerSecond bandwidth;
    Seconds latency;
  };
  Level node() const;
  Level network() const;
  Seconds half(Bytes payload, GroupPlacement placement) const;
  AnalyticProfile profile_;
};

}  // namespace trainyard::simulator
