#include "simulator/failure/recovery_paths.h"

namespace trainyard::simulator {
namespace {

double process_restart_time(const JobModel& job, bool from_memory) {
  const RestartStages& stages = job.restart;
  const Seconds start =
      job.policy.kind == RecoveryKind::kInProcess ? stages.in_process.value : stages.process_start.value;
  const Seconds load = from_memory ? stages.load_memory.value : stages.load_storage.value;
  return (start + stages.communicator_init.value + load + stages.warm_up.value).si();
}

double node_restart_time(const JobModel& job, bool from_memory) {
  const RestartStages& stages = job.restart;
  const Seconds load = from_memory ? stages.load_memory.value : stages.load_storage.value;
  const Seconds same =
      stages.evict.value + stages.process_start.value + stages.communicator_init.value + load + stages.warm_up.value;
  switch (job.policy.kind) {
    case RecoveryKind::kHotSpares:
      return (same + stages.spare_join.value).si();
    case RecoveryKind::kShrink:
      return (same + job.replicas.reshard.value).si();
    default:
      return (same + stages.schedule.value).si();
  }
}

// Share of node losses after which memory still has every shard.
double copies_left(const JobModel& job, const Hazard& hazard) {
  switch (job.policy.kind) {
    case RecoveryKind::kPeerMemory:
    case RecoveryKind::kHotSpares:
    case RecoveryKind::kDropReplica:
    case RecoveryKind::kShrink:
      return hazard.copies_survive.value;
    default:
      return 0.0;
  }
}

void add(RecoveryPaths& paths, const RecoveryPath& path) {
  if (path.share > 0.0) {
    paths.paths.push_back(path);
  }
}

void add_hazard(RecoveryPaths& all, const JobModel& job, std::size_t index, double share) {
  const Hazard& hazard = job.hazards[index];
  RecoveryPath path;
  path.hazard = index;
  path.detection = hazard.detection.value.si();
  path.silent_detection = hazard.silent_detection.value.si();
  path.silent_share = hazard.silent_share.value;
  path.drops_replica = job.policy.kind == RecoveryKind::kDropReplica && job.replicas.count > 1 && !hazard.whole_job;
  const bool memory = uses_memory(job);

  const double mended = hazard.nodes_down > 0 ? hazard.process_restart_share.value : 1.0;
  path.share = share * mended;
  path.from_memory = memory;
  path.restart = process_restart_time(job, memory);
  path.restart_from_storage = process_restart_time(job, false);
  add(all, path);

  const double survive = memory ? copies_left(job, hazard) : 0.0;
  path.nodes_lost = hazard.nodes_down;
  path.restart_from_storage = node_restart_time(job, false);
  for (const bool from_memory : {true, false}) {
    path.share = share * (1.0 - mended) * (from_memory ? survive : 1.0 - survive);
    path.from_memory = from_memory;
    path.restart = node_restart_time(job, from_memory);
    add(all, path);
  }
}

}  // namespace

bool uses_memory(const JobModel& job) {
  return job.checkpoints.memory && job.policy.kind != RecoveryKind::kRestartFromStorage;
}

RecoveryPaths recovery_paths(const JobModel& job, const CorruptionFlow& corruption) {
  RecoveryPaths all;
  all.tail_sigma = job.restart.tail_sigma;
  all.rate = corruption.total.crash;
  for (const Hazard& hazard : job.hazards) {
    all.rate += hazard.rate.value.si() * job.fleet_factor.value;
  }
  if (all.rate <= 0.0) {
    return all;
  }
  for (std::size_t i = 0; i < job.hazards.size(); ++i) {
    add_hazard(all, job, i, job.hazards[i].rate.value.si() * job.fleet_factor.value / all.rate);
  }
  RecoveryPath crash;
  crash.hazard = job.hazards.size();
  crash.share = corruption.total.crash / all.rate;
  crash.detection = crash.silent_detection = job.step_time.si();
  crash.from_memory = uses_memory(job);
  crash.restart = process_restart_time(job, crash.from_memory);
  crash.restart_from_storage = process_restart_time(job, false);
  add(all, crash);
  return all;
}

}  // namespace trainyard::simulator
