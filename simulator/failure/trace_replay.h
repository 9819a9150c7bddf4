// A job on a fleet whose incidents are recorded: what it would have got done.
//
// The job runs on job.nodes of the fleet, chosen by the seed; all other nodes of the fleet that are up are its spares.
// An incident of one of its nodes is a failure that takes that node out: detection, restart and state as the job's
// hazards that lose nodes have them, on average. With no node left it waits for one. Failures that no trace of nodes
// shows (software, planned stops, corruption) are left out.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/failure/incident_trace.h"
#include "simulator/failure/reliability.h"

namespace trainyard::simulator {

struct ReplayRequest {
  std::optional<std::int64_t> fleet;  // nodes there are; nothing: those of the trace
  std::uint64_t seed = 1;
};

struct ReplayResult {
  double goodput = 0.0;
  TimeUses shares;
  std::int64_t failures = 0;     // incidents that hit the job
  std::int64_t in_recovery = 0;  // of them during a recovery
  std::vector<TimelineSlice> timeline;
};

// Throws Error where the job needs more nodes than the fleet has.
ReplayResult replay_trace(const JobModel& job, const IncidentTrace& trace, const ReplayRequest& request = {});

}  // namespace trainyard::simulator
