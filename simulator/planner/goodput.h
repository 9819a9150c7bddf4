// Layouts by what is left after failures: useful tokens a day.
//
//   useful tokens a day = goodput x 86,400 s / step x tokens of a step
//
// Each layout is resolved on the same nodes under the same failure profile, at its own best interval between saves:
// what it saves, loads and keeps in copies are its own (plan_checkpoint.h). Only layouts that the search by speed has
// kept are looked at: goodput differs by some percent between layouts, so a much slower one isn't missed.
#pragma once

#include <vector>

#include "core/plan/recovery_policy.h"
#include "core/plan/training.h"
#include "simulator/failure/failure_profile.h"
#include "simulator/failure/fault_domains.h"
#include "simulator/failure/reliability_advice.h"
#include "simulator/planner/ranked_layout.h"
#include "simulator/throughput/machine.h"

namespace trainyard::simulator {

struct GoodputRequest {
  const ModelSpec& model;
  const Training& training;
  const Machine& machine;
  const FailureProfile& profile;
  const FaultDomains& domains;
  FrontEnd front_end;
  RecoveryPolicy policy;
  CheckpointPolicy checkpoint;
  JobOverrides overrides;
};

struct GoodputLayout {
  RankedLayout layout;
  double goodput = 0.0;         // with what is advised below
  double tokens_per_day = 0.0;  // useful ones
  Seconds mttf;
  BestInterval interval;
  Timeouts timeouts;
  std::int64_t spares = 0;  // for 99 % of the time
  std::vector<DetectorKind> detectors;
};

// Most useful tokens first; layouts that can't follow the policy last, with goodput 0.
std::vector<GoodputLayout> rank_by_goodput(const std::vector<RankedLayout>& layouts, const GoodputRequest& request);

// With interval, timeouts, spares and detectors of a layout.
CheckpointPolicy advised_checkpoint(CheckpointPolicy policy, const GoodputLayout& layout);
RecoveryPolicy advised_recovery(RecoveryPolicy policy, const GoodputLayout& layout);

}  // namespace trainyard::simulator
