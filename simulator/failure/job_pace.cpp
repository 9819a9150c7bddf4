#include "simulator/failure/job_pace.h"

#include <algorithm>
#include <cmath>

#include "simulator/failure/recovery_paths.h"

namespace trainyard::simulator {

JobPace job_pace(const JobModel& job, const CorruptionFlow& corruption) {
  JobPace pace;
  const Stragglers& slow = job.stragglers;
  const double in_episode = -std::expm1(-(slow.episode_rate.value * slow.episode_duration.value));
  pace.steady = slow.slowdown.value;
  pace.stragglers = (1.0 + slow.slowdown.value) * (1.0 + in_episode * slow.episode_slowdown.value) - 1.0;
  pace.detectors = (1.0 + corruption.overhead) * (1.0 + corruption.alarm_share) - 1.0;

  const CheckpointLevel& storage = job.checkpoints.storage;
  const double floor = (storage.write.value - storage.blocking.value).si() / pace.slow();
  const double interval = std::max(storage.interval.si(), floor);
  pace.floor = interval > storage.interval.si();
  pace.segment_work = interval;
  if (uses_memory(job)) {
    const double memory = job.checkpoints.memory->interval.si();
    pace.segments = std::max<std::int64_t>(1, std::llround(interval / memory));
    pace.segment_work = std::max(memory, floor / static_cast<double>(pace.segments));
  }
  return pace;
}

CheckpointPeriod checkpoint_period(const JobModel& job, const JobPace& pace, double speed) {
  CheckpointPeriod period;
  period.work = pace.segment_work * pace.slow() / speed;
  period.segments = pace.segments;
  period.storage_blocking = job.checkpoints.storage.blocking.value.si();
  period.storage_write = job.checkpoints.storage.write.value.si();
  if (uses_memory(job)) {
    period.memory_blocking = job.checkpoints.memory->blocking.value.si();
    period.memory_write = job.checkpoints.memory->write.value.si();
  }
  return period;
}

}  // namespace trainyard::simulator
