// What one failure of each kind costs this job: what stops, what is left of the state, how long until the lost work is
// done again.
//
//   cost = detection + restart + lost work
//   lost work = half an interval + what was being written, of the level the state is loaded from
//
// Means over the classes that take down the same domain; every rank waits, but for the policies that go on with part of
// them, where the replica's share of the job counts.
#pragma once

#include <vector>

#include "core/units/quantity.h"
#include "simulator/failure/profile_resolution.h"
#include "simulator/failure/recovery_paths.h"

namespace trainyard::simulator {

struct FailureCost {
  DomainEffect effect;
  double ranks_lost = 0.0;     // mean
  double ranks_stopped = 0.0;  // that wait for the recovery
  double from_memory = 0.0;    // share of these failures after which the policy loads from memory
  double drops_replica = 0.0;  // ... goes on without a replica
  Seconds detection;
  Seconds restart;
  Seconds lost_work;
  double gpu_hours = 0.0;  // of one failure
  Seconds total() const { return detection + restart + lost_work; }
};

std::vector<FailureCost> failure_costs(const ResolvedJob& resolved);

}  // namespace trainyard::simulator
