// How a job goes on while nothing stops it: the speed of its steps, and its periods of saves.
//
//   seconds a second of work = (1 + slowest rank) (1 + episodes) (1 + detectors) (1 + false alarms)
//   episodes: slowness in P(some episode) = 1 - exp(-rate x duration) of the time
//
// The storage interval is a whole number of memory intervals, and not shorter than the background write.
#pragma once

#include <cstdint>

#include "simulator/failure/checkpoint_cycle.h"
#include "simulator/failure/corruption_flow.h"
#include "simulator/failure/job_model.h"

namespace trainyard::simulator {

struct JobPace {
  double stragglers = 0.0;    // seconds a second of work, over 1: the steady ones and the episodes' mean
  double steady = 0.0;        // of them the steady ones
  double detectors = 0.0;     // on top of (1 + stragglers)
  double segment_work = 0.0;  // s of work between memory saves (storage saves where there is no memory level)
  std::int64_t segments = 1;  // of them in a storage interval
  bool floor = false;         // the interval asked for is shorter than the background write: longer here
  double slow() const { return (1.0 + stragglers) * (1.0 + detectors); }
};

JobPace job_pace(const JobModel& job, const CorruptionFlow& corruption);

// The period at `speed` (1: full) of the pace.
CheckpointPeriod checkpoint_period(const JobModel& job, const JobPace& pace, double speed);

}  // namespace trainyard::simulator
