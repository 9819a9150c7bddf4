// Collective times from a machine's own samples; equations in collective_cost.h.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "simulator/collective/collective_cost.h"
#include "simulator/compute/log_curve.h"

namespace trainyard::simulator {

class MeasuredCollectives final : public CollectiveCost {
 public:
  MeasuredCollectives(const Concurrency& samples, std::string profile_name);
  Seconds time(CommunicationKind kind, CollectiveAlgorithm algorithm, ByteCount payload,
               GroupPlacement placement) const override;
  // Of the nearest sampled group size; none sampled: no slowdown.
  OverlapSlowdown overlap(int group_size) const override;

 private:
  using CurveKey = std::pair<CommunicationKind, CollectiveAlgorithm>;
  double sampled(const CurveKey& key, double payload, int members) const;
  double as_sends(const CurveKey& key, double payload, int members) const;

  std::string profile_name_;
  std::map<CurveKey, std::map<int, LogCurve>> curves_;  // by group size
  std::map<int, OverlapSlowdown> overlap_;
};

}  // namespace trainyard::simulator
