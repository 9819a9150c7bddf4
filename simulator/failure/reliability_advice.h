// What to choose for a job: interval, spares, timeouts and detectors together, and what each policy would leave.
//
//   interval   best_interval() over the whole model
//   spares     the 99th percentile of nodes away for repair, for the nodes of the job
//   timeouts   a watchdog waits five times what is usual (NVRx's safety factor): hang = 5 (step + blocking save), at
//              least 30 s; joining = 5 x communicator init, at least 60 s; each longer than the one inside it, as in
//              pytorch/torchtitan #2899 (120 < 200 < 300 s)
//   detectors  those that cost nothing, and the cheapest set that leaves less than one corruption undetected in the
//              time asked for, where 1 % of goodput buys that
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/recovery_policy.h"
#include "core/units/quantity.h"
#include "simulator/failure/interval_search.h"
#include "simulator/failure/profile_resolution.h"
#include "simulator/failure/reliability.h"

namespace trainyard::simulator {

struct Timeouts {
  Seconds heartbeat;
  Seconds hang;
  Seconds join;
};
Timeouts advised_timeouts(const JobModel& job);

// A job with its own best intervals.
struct PolicyAnswer {
  RecoveryKind kind = RecoveryKind::kRestartFromStorage;
  std::string why_not;  // of a policy that the layout can't follow
  BestInterval best;
  Reliability reliability;
};
// resolve: the same job under another policy; throws Error where the layout can't.
std::vector<PolicyAnswer> compare_policies(const std::function<ResolvedJob(RecoveryKind)>& resolve);

struct DetectorAnswer {
  std::string name;  // "none", "loss_spike", ..., "all", "checksum hardware"
  std::vector<DetectorKind> kinds;
  double goodput = 0.0;
  double found_per_month = 0.0;
  double undetected_per_month = 0.0;
  double overhead = 0.0;  // of the step
};
std::vector<DetectorAnswer> compare_detectors(const JobModel& job);
// The detectors that are on, and an accelerator that checks its own products (no H100 does).
DetectorAnswer with_checksum_hardware(JobModel job);

// Of those, by the rule above.
const DetectorAnswer& advised_detectors(const std::vector<DetectorAnswer>& answers, Seconds time);

// The job with these timeouts, spares and detectors.
JobModel with_advice(JobModel job, const Timeouts& timeouts, std::optional<std::int64_t> spares,
                     const std::vector<DetectorKind>& detectors);

// Writes the best intervals into the job; with a level in memory, at most a day of work between saves on storage.
BestInterval set_best_interval(JobModel& job);

}  // namespace trainyard::simulator
