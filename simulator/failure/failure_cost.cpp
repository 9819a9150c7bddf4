#include "simulator/failure/failure_cost.h"

#include <algorithm>

#include "simulator/failure/corruption_flow.h"

namespace trainyard::simulator {

namespace {

constexpr double kHour = 3600.0;

// Work that a load from this level loses, s.
double lost_work(const CheckpointLevel& level) {
  return 0.5 * (level.interval.si() + level.blocking.value.si()) + level.write.value.si();
}

struct Sums {
  double share = 0.0;
  double memory = 0.0;
  double drops = 0.0;
  double detection = 0.0;
  double restart = 0.0;
  double lost = 0.0;
};

void add(Sums& sums, const RecoveryPath& path, const JobModel& job) {
  const double detection = (1.0 - path.silent_share) * path.detection + path.silent_share * path.silent_detection;
  const Checkpoints& checkpoints = job.checkpoints;
  const bool memory = path.from_memory && checkpoints.memory.has_value();
  const double lost = path.drops_replica ? 0.0 : lost_work(memory ? *checkpoints.memory : checkpoints.storage);
  sums.share += path.share;
  sums.memory += path.from_memory ? path.share : 0.0;
  sums.drops += path.drops_replica ? path.share : 0.0;
  sums.detection += path.share * detection;
  sums.restart += path.share * path.restart;
  sums.lost += path.share * lost;
}

FailureCost cost_of(const DomainEffect& effect, const Sums& sums, const JobModel& job) {
  FailureCost cost;
  cost.effect = effect;
  const double gpus = static_cast<double>(job.nodes * job.gpus_per_node);
  cost.ranks_lost =
      effect.domain == FaultDomain::kProcess ? 1.0 : effect.nodes * static_cast<double>(job.gpus_per_node);
  cost.ranks_stopped = gpus;
  if (sums.share > 0.0) {
    cost.from_memory = sums.memory / sums.share;
    cost.drops_replica = sums.drops / sums.share;
    cost.detection = from_si<Seconds>(sums.detection / sums.share);
    cost.restart = from_si<Seconds>(sums.restart / sums.share);
    cost.lost_work = from_si<Seconds>(sums.lost / sums.share);
  }
  cost.gpu_hours = gpus * cost.total().si() / kHour;
  if (cost.drops_replica > 0.0) {  // and the replica's own ranks until it is back
    const double replica = gpus / static_cast<double>(job.replicas.count);
    cost.gpu_hours += cost.drops_replica * replica * job.replicas.rebuild.value.si() / kHour;
  }
  return cost;
}

}  // namespace

std::vector<FailureCost> failure_costs(const ResolvedJob& resolved) {
  const JobModel& job = resolved.job;
  const RecoveryPaths paths =
      recovery_paths(job, corruption_flow(job.corruption, job.policy.detectors, job.replicas.count));
  std::vector<FailureCost> costs;
  for (const DomainEffect& effect : resolved.effects) {
    Sums sums;
    for (const RecoveryPath& path : paths.paths) {
      const bool here = path.hazard < job.hazards.size() &&
                        std::ranges::find(effect.classes, job.hazards[path.hazard].name) != effect.classes.end();
      if (here) {
        add(sums, path, job);
      }
    }
    costs.push_back(cost_of(effect, sums, job));
  }
  return costs;
}

}  // namespace trainyard::simulator
