// Mean length of a recovery when failures go on coming during it.
//
// Paths i with shares p_i, durations C_i (detection + restart); a failure during a recovery begins a new one by the new
// failure's path. Once the copy in memory isn't enough, the state comes from storage, whatever comes later.
//   a_i = (1 - E e^(-lam C_i)) / lam (time until done or hit), g_i = E e^(-lam C_i) (done)
//   storage:  S = A' / G' (primed: loads from storage), S_i = a'_i + (1 - g'_i) S
//   memory:   M = (A1 + (q1 - G1) S2) / (1 - q1 + G1), sums over paths from memory;  S2: sum of p_i S_i over the others
//   mean = M + S2,  share that ends at the memory save = G1 / (1 - q1 + G1)
// One path: (e^(lam C) - 1) / lam, Daly's. Without failures during recovery: sum of p_i C_i.
#pragma once

#include "simulator/failure/checkpoint_cycle.h"
#include "simulator/failure/recovery_paths.h"

namespace trainyard::simulator {

struct RecoveryTimes {
  RecoveryMean mean;
  double detection = 0.0;  // part of mean.time until somebody has noticed
};

// Of the paths that stop the whole job (drops_replica left out), at their own rate. Infinite where no recovery ends.
RecoveryTimes recovery_times(const RecoveryPaths& paths, bool recovery_can_fail);

}  // namespace trainyard::simulator
