// What happens after a failure, by policy: the ways of recovery and how often each is taken.
//
//   process restart   the same nodes             process_start + communicator_init + load + warm_up
//   node lost         another node in its place  evict + schedule + process_start + communicator_init + load + warm_up
//
//   restart_from_storage  state from storage always
//   two_level             from this node's memory after a process restart, else storage
//   peer_memory           from memory after a process restart, and after losing nodes where copies survive; else
//   storage in_process            in_process instead of process_start where no node is lost; memory as two_level
//   hot_spares            spare_join instead of schedule; memory as peer_memory, where there is such a level
//   drop_replica          the others stall, then go on; what hits the whole job restarts as with peer_memory
//   shrink                a lost node isn't replaced: evict + process_start + communicator_init + reshard + load +
//   warm_up
//
// NaN or Inf from a corruption is one more failure: found at that step, mended by a process restart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simulator/failure/corruption_flow.h"
#include "simulator/failure/job_model.h"

namespace trainyard::simulator {

// Seconds.
struct RecoveryPath {
  std::size_t hazard = 0;  // of the job; one past the last: NaN or Inf
  double share = 0.0;      // of all failures
  std::int64_t nodes_lost = 0;
  bool from_memory = false;
  bool drops_replica = false;
  double detection = 0.0;
  double silent_detection = 0.0;
  double silent_share = 0.0;
  double restart = 0.0;
  double restart_from_storage = 0.0;  // where a further failure has spoilt the copy in memory
};

struct RecoveryPaths {
  double rate = 0.0;  // failures per second
  double tail_sigma = 0.0;
  std::vector<RecoveryPath> paths;  // shares sum to 1
};

RecoveryPaths recovery_paths(const JobModel& job, const CorruptionFlow& corruption);

// Whether the policy saves to and loads from memory; it needs the job's memory level, too.
bool uses_memory(const JobModel& job);

}  // namespace trainyard::simulator
