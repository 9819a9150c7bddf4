#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "simulator/failure/count_law.h"
#include "simulator/failure/job_pace.h"
#include "simulator/failure/node_shortage.h"
#include "simulator/failure/recovery_mean.h"
#include "simulator/failure/recovery_paths.h"
#include "simulator/failure/reliability.h"
#include "simulator/failure/series_system.h"

namespace trainyard::simulator {
namespace {

constexpr double kSecondsPerDay = 86400.0;
constexpr double kNoProgress = 1e-3;  // a goodput below it

// Going on with what is left, as shares of running time: replica_recovery.h.
struct ReplicaLoss {
  double rate = 0.0;      // failures that leave a replica out
  double running = 1.0;   // not everybody stalls
  double noticing = 0.0;  // share of a stall until somebody has noticed
  double whole = 1.0;     // of the replicas that are there while running
  double step = 1.0;      // steps that aren't cut short
  double speed() const { return running * whole * step; }
};

ReplicaLoss replica_loss(const JobModel& job, const RecoveryPaths& paths, const NodeShortage& shortage) {
  ReplicaLoss loss;
  double detection = 0.0;
  for (const RecoveryPath& path : paths.paths) {
    if (path.drops_replica) {
      loss.rate += paths.rate * path.share;
      detection += paths.rate * path.share *
                   ((1.0 - path.silent_share) * path.detection + path.silent_share * path.silent_detection);
    }
  }
  if (loss.rate <= 0.0) {
    return loss;
  }
  const double stall = detection + loss.rate * job.replicas.stall.value.si();
  const auto replicas = static_cast<double>(job.replicas.count);
  loss.running = std::exp(-stall);
  loss.noticing = stall > 0.0 ? detection / stall : 0.0;
  const double unmanned = std::min(1.0, shortage.mean_missing / replicas);
  loss.whole = std::exp(-loss.rate * job.replicas.rebuild.value.si() / replicas) * (1.0 - unmanned);
  const double steps = loss.rate * job.step_time.si();
  loss.step = steps > 0.0 ? steps / std::expm1(steps) : 1.0;
  return loss;
}

double shrunk_speed(const JobModel& job, const NodeShortage& shortage) {
  if (job.policy.kind != RecoveryKind::kShrink) {
    return 1.0;
  }
  return std::max(0.0, 1.0 - shortage.replicas_missing / static_cast<double>(job.replicas.count));
}

// Seconds by use in one period, from which everything follows.
struct PeriodUse {
  TimeUses uses;
  double failures = 0.0;  // that stop the job
  double total() const { return uses.sum(); }
};

struct Analysis {
  const JobModel& job;
  CorruptionFlow corruption;
  RecoveryPaths paths;
  JobPace pace;
  NodeShortage shortage;
  RecoveryTimes recovery;
  ReplicaLoss replicas;
  double shrunk = 1.0;

  explicit Analysis(const JobModel& model)
      : job(model),
        corruption(corruption_flow(job.corruption, job.policy.detectors, job.replicas.count)),
        paths(recovery_paths(job, corruption)),
        pace(job_pace(job, corruption)),
        shortage(node_shortage(job, paths)),
        recovery(recovery_times(paths, job.recovery_can_fail)),
        replicas(replica_loss(job, paths, shortage)),
        shrunk(shrunk_speed(job, shortage)) {}

  double speed() const { return replicas.speed() * shrunk; }
};

void add_running(PeriodUse& period, const Analysis& a, const CheckpointPeriod& cycle) {
  TimeUses& uses = period.uses;
  const double useful = a.pace.segment_work * static_cast<double>(a.pace.segments);
  const double full_speed = useful * a.pace.slow();
  uses[TimeUse::kUseful] = useful;
  uses[TimeUse::kStragglers] = useful * a.pace.stragglers;
  uses[TimeUse::kDetectors] = full_speed - useful * (1.0 + a.pace.stragglers);
  // Work backwards from full speed: cut-short steps, missing replicas, stalls.
  double wall = full_speed / a.replicas.step;
  uses[TimeUse::kLostWork] = wall - full_speed;
  const double thinner = wall / (a.replicas.whole * a.shrunk);
  uses[TimeUse::kDegraded] = thinner - wall;
  wall = thinner / a.replicas.running;
  uses[TimeUse::kDetection] = (wall - thinner) * a.replicas.noticing;
  uses[TimeUse::kRestart] = (wall - thinner) * (1.0 - a.replicas.noticing);
  uses[TimeUse::kBlockingSaves] = cycle.undisturbed() - cycle.work * static_cast<double>(cycle.segments);
}

void add_failures(PeriodUse& period, const Analysis& a, const CheckpointPeriod& cycle) {
  const RecoveryMean& mean = a.recovery.mean;
  if (mean.rate <= 0.0) {
    return;
  }
  TimeUses& uses = period.uses;
  const double expected = expected_period(cycle, mean);
  const double running = expected / (1.0 + mean.rate * mean.time);
  period.failures = mean.rate * running;
  uses[TimeUse::kLostWork] += std::max(0.0, running - cycle.undisturbed());
  uses[TimeUse::kDetection] += period.failures * a.recovery.detection;
  uses[TimeUse::kRestart] += period.failures * (mean.time - a.recovery.detection);
  // The newest save unusable with share u, geometrically: a period more each time.
  const double unusable = a.job.checkpoints.unusable_share.value;
  const double loads = period.failures * (1.0 - mean.to_memory);
  uses[TimeUse::kLostWork] += loads * unusable / (1.0 - unusable) * running;
}

// P(every kept save is newer than the corruption), latency exponential with mean L, saves every P, `keep` of them.
double all_poisoned(double latency, double period, std::int64_t keep) {
  if (latency <= 0.0) {
    return 0.0;
  }
  const double x = period / latency;
  return std::exp(-x * static_cast<double>(keep - 1)) * -std::expm1(-x) / x;
}

void add_corruption(PeriodUse& period, const Analysis& a, const CheckpointPeriod& cycle) {
  const double found = a.corruption.total.found;
  if (found <= 0.0) {
    return;
  }
  const double length = cycle.undisturbed();
  // Back to the last save before the corruption, half a period behind it, plus what ran since; load from storage.
  const double poisoned = all_poisoned(a.corruption.latency, length, a.job.checkpoints.keep);
  const double archive = a.job.checkpoints.archive_interval.value_or(a.job.length).si();
  const double lost = a.corruption.latency + 0.5 * length + cycle.storage_write + poisoned * 0.5 * archive;
  const RestartStages& stages = a.job.restart;
  const double restart = (stages.evict.value + stages.schedule.value + stages.process_start.value +
                          stages.communicator_init.value + stages.load_storage.value + stages.warm_up.value)
                             .si();
  // Work done again fails like other work.
  const double again = found * lost;
  for (const TimeUse use : {TimeUse::kDetection, TimeUse::kRestart, TimeUse::kLostWork}) {
    period.uses[use] *= 1.0 + again;
  }
  period.uses[TimeUse::kCorruption] = again * length + found * length * (1.0 + again) * restart;
}

void add_waiting(PeriodUse& period, const Analysis& a) {
  if (a.replicas.rate > 0.0 || a.job.policy.kind == RecoveryKind::kShrink) {
    return;
  }
  if (a.job.spares.provision) {
    const double losses = a.shortage.loss_rate * period.total();
    period.uses[TimeUse::kWaiting] = losses * a.shortage.none_left * a.job.spares.provision->si();
    return;
  }
  const double waits = std::min(a.shortage.waiting, 1.0 - 1e-9);
  period.uses[TimeUse::kWaiting] = period.total() * waits / (1.0 - waits);
}

// Each replica that is taken in again: a restart that loses nothing.
void add_regrowth(PeriodUse& period, const Analysis& a) {
  const RestartStages& stages = a.job.restart;
  const double restart = (stages.process_start.value + stages.communicator_init.value + a.job.replicas.reshard.value +
                          stages.load_storage.value + stages.warm_up.value)
                             .si();
  period.uses[TimeUse::kRestart] += period.total() * a.shortage.regrowth_rate * restart;
}

PeriodUse period_use(const Analysis& a) {
  PeriodUse period;
  const CheckpointPeriod cycle = checkpoint_period(a.job, a.pace, a.speed());
  add_running(period, a, cycle);
  add_failures(period, a, cycle);
  add_corruption(period, a, cycle);
  add_regrowth(period, a);
  add_waiting(period, a);
  const PlannedStops& planned = a.job.planned;
  period.uses[TimeUse::kPlanned] = period.total() * (planned.rate.value * planned.duration.value);
  return period;
}

std::vector<HazardShare> hazard_shares(const Analysis& a, const PeriodUse& period) {
  std::vector<HazardShare> shares(a.job.hazards.size());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    shares[i].name = a.job.hazards[i].name;
  }
  const double total = period.total();
  const CheckpointPeriod cycle = checkpoint_period(a.job, a.pace, a.speed());
  // Each path's own cost, scaled so that they sum to what was found for all together.
  std::vector<double> cost(a.paths.paths.size());
  double sum = 0.0;
  for (std::size_t i = 0; i < cost.size(); ++i) {
    const RecoveryPath& path = a.paths.paths[i];
    const double stop = (1.0 - path.silent_share) * path.detection + path.silent_share * path.silent_detection;
    const double lost =
        path.from_memory ? 0.5 * cycle.work + cycle.memory_write : 0.5 * cycle.undisturbed() + cycle.storage_write;
    cost[i] = path.share * (path.drops_replica ? stop + a.job.replicas.stall.value.si() : stop + path.restart + lost);
    sum += cost[i];
  }
  const TimeUses& uses = period.uses;
  const double all = uses[TimeUse::kDetection] + uses[TimeUse::kRestart] + uses[TimeUse::kLostWork];
  for (std::size_t i = 0; i < cost.size(); ++i) {
    const RecoveryPath& path = a.paths.paths[i];
    if (path.hazard == shares.size()) {
      shares.push_back({"NaN or Inf", 0.0, 0.0});
    }
    shares[path.hazard].per_day += a.paths.rate * path.share * kSecondsPerDay;
    shares[path.hazard].time_share += sum > 0.0 && total > 0.0 ? all / total * cost[i] / sum : 0.0;
  }
  return shares;
}

void add_notes(Reliability& result, const Analysis& a) {
  for (const Hazard& hazard : a.job.hazards) {
    if (hazard.law == ArrivalLaw::kWeibull && hazard.rate.value.si() > 0.0) {
      result.notes.push_back(fmt::format("{}: its bursts (Weibull) are averaged; simulation has them", hazard.name));
    }
  }
  if (a.pace.floor) {
    result.notes.push_back(fmt::format("the storage interval is {:.0f} s of work: a save takes that long to write",
                                       a.pace.segment_work * static_cast<double>(a.pace.segments)));
  }
  const double latency = a.corruption.latency;
  const double poisoned =
      all_poisoned(latency, checkpoint_period(a.job, a.pace, a.speed()).undisturbed(), a.job.checkpoints.keep);
  if (a.corruption.total.found > 0.0 && poisoned > 0.01) {
    result.notes.push_back(fmt::format(
        "{:.0f} % of the corruptions that are found are older than all {} kept saves: keep more, or an archive",
        100.0 * poisoned, a.job.checkpoints.keep));
  }
  if (a.replicas.rate > 0.0 && a.replicas.whole < 0.8) {
    result.notes.push_back(
        "replicas are lost faster than they are rebuilt: all of them can be down at once, which the "
        "closed form leaves out");
  }
}

std::optional<std::string> why_no_progress(const Analysis& a, double goodput) {
  const bool replaces = a.job.spares.provision || a.job.policy.kind == RecoveryKind::kShrink;
  if (a.shortage.forever && a.shortage.mean_down > static_cast<double>(a.job.spares.nodes) && !replaces) {
    return fmt::format("lost nodes never come back and nothing replaces them: {} spares last {:.2g} days of {:.2g}",
                       a.job.spares.nodes,
                       static_cast<double>(a.job.spares.nodes + 1) / (a.shortage.loss_rate * kSecondsPerDay),
                       a.job.length.si() / kSecondsPerDay);
  }
  if (goodput >= kNoProgress) {
    return std::nullopt;
  }
  const CheckpointPeriod cycle = checkpoint_period(a.job, a.pace, std::max(a.speed(), 1e-12));
  const double recovery = a.recovery.mean.time;  // overflows where it hardly ever succeeds
  return fmt::format(
      "a failure every {:.3g} s leaves no time to make progress: from one save that counts to the next takes {:.3g} s, "
      "{}",
      1.0 / a.paths.rate, cycle.undisturbed() + cycle.storage_write,
      std::isfinite(recovery) ? fmt::format("a recovery {:.3g} s", recovery) : "a recovery practically never ends");
}

}  // namespace

Reliability analyse(const JobModel& job) {
  const Analysis a(job);
  const PeriodUse period = period_use(a);
  Reliability result;
  result.mttf = mean_time_to_failure(from_si<PerSecond>(a.paths.rate));
  result.stops_per_day = (a.paths.rate + job.planned.rate.value.si()) * kSecondsPerDay;
  result.corruption = a.corruption;
  if (!a.shortage.forever) {
    result.nodes_down = a.shortage.mean_down;
    result.nodes_down_p99 = a.shortage.p99_down;
  }
  const double total = period.total();
  const bool finite = std::isfinite(total);
  result.goodput = finite ? period.uses[TimeUse::kUseful] / total : 0.0;
  result.no_progress = why_no_progress(a, result.goodput);
  for (std::size_t i = 0; i < kTimeUses; ++i) {
    result.shares.of[i] = finite ? period.uses.of[i] / total : 0.0;
  }
  if (!finite) {
    result.shares[TimeUse::kLostWork] = 1.0;
  }
  if (result.no_progress && result.goodput >= kNoProgress) {
    result.shares[TimeUse::kWaiting] += result.goodput;  // stands for ever, sooner or later
    result.shares[TimeUse::kUseful] = result.goodput = 0.0;
  }
  result.tokens_per_day =
      job.step_time.si() > 0.0 ? result.goodput * job.tokens_per_step * kSecondsPerDay / job.step_time.si() : 0.0;
  if (finite) {
    result.hazards = hazard_shares(a, period);
  }
  add_notes(result, a);
  return result;
}

}  // namespace trainyard::simulator
