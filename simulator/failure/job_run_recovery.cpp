// What a simulated run does after a failure.
#include <algorithm>
#include <cmath>
#include <limits>

#include "simulator/failure/job_run.h"

namespace trainyard::simulator {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

const RecoveryPath& JobRun::choose_path(const FailureArrival& arrival) {
  const std::vector<RunSetup::Way>& ways = setup_.ways[arrival.hazard];
  const double at = random_.uniform() * ways.back().up_to;
  std::size_t i = 0;
  while (i + 1 < ways.size() && at >= ways[i].up_to) {
    ++i;
  }
  return setup_.paths.paths[ways[i].path];
}

double JobRun::detection_of(const RecoveryPath& path) {
  return random_.uniform() < path.silent_share ? path.silent_detection : path.detection;
}

double JobRun::restart_of(double mean) {
  const double sigma = job_.restart.tail_sigma;
  return sigma > 0.0 ? mean * std::exp(sigma * random_.normal() - 0.5 * sigma * sigma) : mean;
}

void JobRun::take_out(const FailureArrival& arrival, const RecoveryPath& path) {
  const Hazard& hazard = job_.hazards[path.hazard];
  outcome_.node_losses += path.nodes_lost;
  pool_.collect(clock_);
  for (std::int64_t i = 0; i < path.nodes_lost; ++i) {
    const std::optional<Seconds> repair = repair_quantile(hazard.repair, random_.uniform());
    const std::optional<double> back = repair ? std::optional(clock_ + repair->si()) : std::nullopt;
    pool_.send_to_repair({path.hazard, i == 0 ? arrival.node : std::nullopt}, back);
    ++missing_;
  }
  outcome_.nodes_down_peak = std::max(outcome_.nodes_down_peak, pool_.away());
  fill_from_pool(arrival);
}

void JobRun::fill_from_pool(const FailureArrival& arrival) {
  pool_.collect(clock_);
  while (missing_ > 0 && pool_.available() > 0) {
    const std::optional<RepairedNode> node = pool_.take();
    arrivals_.replace(arrival, node ? node->node : std::nullopt, hazard_clock_);
    if (node) {
      arrivals_.returned_to_work(node->hazard, node->node, hazard_clock_);
    }
    --missing_;
  }
}

// False where no node will ever come.
bool JobRun::wait_for_nodes(const FailureArrival& arrival) {
  const double provision = job_.spares.provision ? clock_ + job_.spares.provision->si() : kNever;
  while (missing_ > 0) {
    const double next = std::min(provision, pool_.next_return());
    if (std::isinf(next)) {
      outcome_.gave_up = "lost nodes never come back, and no spare is left";
      return false;
    }
    pause(std::max(0.0, next - clock_), TimeUse::kWaiting, "no spare node");
    fill_from_pool(arrival);
    if (clock_ >= provision) {
      pool_.borrow(missing_);
      for (; missing_ > 0; --missing_) {
        arrivals_.replace(arrival, std::nullopt, hazard_clock_);
      }
    }
  }
  return true;
}

void JobRun::recover(FailureArrival arrival) {
  bool from_memory = true;
  for (bool first = true;; first = false) {
    ++outcome_.failures;
    const RecoveryPath& path = choose_path(arrival);
    if (path.drops_replica && first) {
      drop_replica(arrival, &path);
      return;
    }
    from_memory = from_memory && path.from_memory;
    const std::string name = timeline_ != nullptr ? name_of(path.hazard) : std::string();
    const bool hit = stand(detection_of(path), TimeUse::kDetection, name);
    if (path.nodes_lost > 0) {
      take_out(arrival, path);
    }
    if (!hit) {
      const bool shrinks = job_.policy.kind == RecoveryKind::kShrink && replica_speed() > 0.0;
      if (!shrinks && !wait_for_nodes(arrival)) {
        return;
      }
      const double mean = from_memory ? path.restart : path.restart_from_storage;
      if (!stand(restart_of(mean), TimeUse::kRestart, name)) {
        break;
      }
    }
    if (over()) {
      break;
    }
    arrival = arrivals_.take();
  }
  down_.clear();  // a restart brings all replicas back
  go_back(from_memory);
}

void JobRun::go_back(bool to_memory) {
  if (to_memory) {
    lose(progress_.back_to_memory(), TimeUse::kLostWork);
    return;
  }
  std::int64_t older = 0;
  const double unusable = job_.checkpoints.unusable_share.value;
  while (unusable > 0.0 && random_.uniform() < unusable) {
    ++older;
  }
  lose(progress_.back_to_storage(older), TimeUse::kLostWork);
}

// What was gained once is taken back and counted as lost; so are corruptions in it.
void JobRun::lose(const ProgressAmount& amount, TimeUse use) {
  outcome_.uses[use] += amount.work * setup_.pace.slow() + amount.blocking;
  outcome_.uses[TimeUse::kBlockingSaves] -= amount.blocking;
  const double now = progress_.work();
  corruptions_.erase(std::remove_if(corruptions_.begin(), corruptions_.end(),
                                    [now](const Corruption& corruption) { return corruption.work >= now; }),
                     corruptions_.end());
}

// Everybody stalls; further failures meanwhile prolong it. Then the others go on.
void JobRun::drop_replica(FailureArrival arrival, const RecoveryPath* path) {
  const double step = job_.step_time.si();
  lose(progress_.cut_back(std::floor(progress_.work() / step) * step), TimeUse::kLostWork);
  double noticed = clock_;
  double stall_end = clock_;
  for (;;) {
    const double own_notice = clock_ + detection_of(*path);
    const double own_end = own_notice + job_.replicas.stall.value.si();
    noticed = std::max(noticed, own_notice);
    stall_end = std::max(stall_end, own_end);
    double manned = own_end;
    if (path->nodes_lost > 0) {
      take_out(arrival, *path);
      if (missing_ > 0) {
        const double provision = job_.spares.provision ? clock_ + job_.spares.provision->si() : kNever;
        manned = std::max(manned, std::min(provision, pool_.next_return()));
        missing_ = 0;
      }
    }
    const auto replica = static_cast<std::int64_t>(random_.uniform() * static_cast<double>(job_.replicas.count));
    const double back_at = manned + job_.replicas.rebuild.value.si();
    const auto same = std::find_if(down_.begin(), down_.end(),
                                   [replica](const DownReplica& down) { return down.replica == replica; });
    if (same != down_.end()) {
      same->back_at = std::max(same->back_at, back_at);
    } else {
      down_.push_back({replica, back_at});
    }
    const std::string name = timeline_ != nullptr ? name_of(path->hazard) : std::string();
    if (!stand(std::max(0.0, noticed - clock_), TimeUse::kDetection, name) &&
        !stand(std::max(0.0, stall_end - clock_), TimeUse::kRestart, name)) {
      break;
    }
    if (over()) {
      return;
    }
    arrival = arrivals_.take();
    path = &choose_path(arrival);
    ++outcome_.failures;
    if (!path->drops_replica) {
      --outcome_.failures;
      recover(arrival);
      return;
    }
  }
  change();
  if (static_cast<std::int64_t>(down_.size()) >= job_.replicas.count) {
    // Nobody is left: as the last failure, but of the whole job.
    const double restart = path->restart;
    down_.clear();
    if (stand(restart_of(restart), TimeUse::kRestart, "all replicas down")) {
      recover(arrivals_.take());
      return;
    }
    go_back(path->from_memory);
  }
}

// Replicas that are back, nodes that mans one more.
void JobRun::change() {
  down_.erase(std::remove_if(down_.begin(), down_.end(),
                             [this](const DownReplica& replica) { return replica.back_at <= clock_; }),
              down_.end());
  if (job_.policy.kind != RecoveryKind::kShrink || missing_ == 0) {
    return;
  }
  const double before = replica_speed();
  fill_from_pool({});
  if (replica_speed() > before) {
    const RestartStages& stages = job_.restart;
    const Seconds restart = stages.process_start.value + stages.communicator_init.value + job_.replicas.reshard.value +
                            stages.load_storage.value + stages.warm_up.value;
    if (stand(restart_of(restart.si()), TimeUse::kRestart, "a node is back")) {
      recover(arrivals_.take());
    }
  }
}

}  // namespace trainyard::simulator
