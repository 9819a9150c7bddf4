#include "simulator/failure/job_run.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"

namespace trainyard::simulator {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

double next_of(RunRandom& random, double rate) { return rate > 0.0 ? random.exponential() / rate : kNever; }

}  // namespace

RunSetup::RunSetup(const JobModel& model)
    : job(model),
      corruption(corruption_flow(job.corruption, job.policy.detectors, job.replicas.count)),
      paths(recovery_paths(job, corruption)),
      pace(job_pace(job, corruption)) {
  pace.stragglers = pace.steady;  // episodes come as events
  period = checkpoint_period(job, pace, 1.0);
  ways.resize(job.hazards.size() + 1);
  for (std::size_t i = 0; i < paths.paths.size(); ++i) {
    std::vector<Way>& of = ways[paths.paths[i].hazard];
    of.push_back({(of.empty() ? 0.0 : of.back().up_to) + paths.paths[i].share, i});
  }
}

JobRun::JobRun(const RunSetup& setup, RunRandom random, std::vector<TimelineSlice>* timeline, double timeline_end)
    : setup_(setup),
      job_(setup.job),
      random_(random),
      arrivals_(setup.job, setup.corruption.total.crash, random_),
      progress_(setup.period, setup.pace.segment_work),
      pool_(setup.job.spares.nodes),
      timeline_(timeline),
      timeline_end_(timeline_end) {
  next_corruption_ = next_of(random_, setup.corruption.total.found + setup.corruption.total.undetected);
  next_planned_ = next_of(random_, job_.planned.rate.value.si());
  next_episode_ = next_of(random_, job_.stragglers.episode_rate.value.si());
}

double JobRun::replica_speed() const {
  const auto replicas = static_cast<double>(job_.replicas.count);
  if (job_.policy.kind == RecoveryKind::kShrink && missing_ > 0) {
    const std::int64_t nodes = job_.replicas.count * job_.replicas.nodes_each - missing_;
    return static_cast<double>(std::max<std::int64_t>(0, nodes) / job_.replicas.nodes_each) / replicas;
  }
  return (replicas - static_cast<double>(down_.size())) / replicas;
}

double JobRun::episode_speed() const {
  return clock_ < episode_end_ ? 1.0 / (1.0 + job_.stragglers.episode_slowdown.value) : 1.0;
}

// When the speed changes by itself.
double JobRun::next_change() const {
  double next = clock_ < episode_end_ ? episode_end_ : kNever;
  for (const DownReplica& replica : down_) {
    next = std::min(next, replica.back_at);
  }
  if (job_.policy.kind == RecoveryKind::kShrink && missing_ > 0) {
    next = std::min(next, pool_.next_return());
  }
  return next;
}

double JobRun::next_discovery() const {
  double next = kNever;
  for (const Corruption& corruption : corruptions_) {
    next = std::min(next, corruption.found_at);
  }
  return next;
}

JobRun::Next JobRun::next_event(double speed, double& wait) const {
  Next next = Next::kOutOfTime;
  wait = limits_.duration - clock_;
  const auto sooner = [&next, &wait](double time, Next event) {
    if (time < wait) {
      wait = time;
      next = event;
    }
  };
  sooner(arrivals_.next_time() - hazard_clock_, Next::kFailure);
  sooner(next_corruption_ - hazard_clock_, Next::kCorruption);
  sooner(next_planned_ - hazard_clock_, Next::kPlanned);
  sooner(next_episode_ - hazard_clock_, Next::kEpisode);
  sooner(next_change() - clock_, Next::kChange);
  sooner(next_discovery() - clock_, Next::kDiscovery);
  if (limits_.target > 0.0) {
    const double done = progress_.time_until(limits_.target, speed);
    if (done <= wait) {
      wait = done;
      next = Next::kDone;
    }
  }
  wait = std::max(0.0, wait);
  return next;
}

bool JobRun::over() {
  if (outcome_.failures > limits_.failures) {
    outcome_.gave_up = "failures leave no time to make progress";
  }
  return outcome_.gave_up.has_value() || clock_ >= limits_.duration;
}

RunOutcome JobRun::run(const RunLimits& limits) {
  limits_ = limits;
  while (!outcome_.gave_up) {
    const double speed = replica_speed() * episode_speed();
    double wait = 0.0;
    const Next next = next_event(speed, wait);
    run_for(wait);
    if (next == Next::kDone || next == Next::kOutOfTime) {
      outcome_.finished = next == Next::kDone || limits.target <= 0.0;
      break;
    }
    handle(next);
    over();
  }
  outcome_.wall = clock_;
  outcome_.work = progress_.work();
  if (limits.target > 0.0 && outcome_.finished) {
    outcome_.work = limits.target;
  }
  const JobPace& pace = setup_.pace;
  outcome_.uses[TimeUse::kUseful] += outcome_.work;
  outcome_.uses[TimeUse::kStragglers] += outcome_.work * pace.stragglers;
  outcome_.uses[TimeUse::kDetectors] += outcome_.work * (1.0 + pace.stragglers) * pace.detectors;
  for (const Corruption& corruption : corruptions_) {
    outcome_.corruptions_missed += std::isinf(corruption.found_at) ? 1 : 0;
  }
  return outcome_;
}

void JobRun::run_for(double wall) {
  if (wall <= 0.0) {
    return;
  }
  const double replicas = replica_speed();
  const double episode = episode_speed();
  const double begin = clock_;
  const ProgressAmount gained = progress_.run(wall, replicas * episode);
  outcome_.uses[TimeUse::kBlockingSaves] += gained.blocking;
  const double running = wall - gained.blocking;
  outcome_.uses[TimeUse::kDegraded] += running * (1.0 - replicas);
  outcome_.uses[TimeUse::kStragglers] += running * replicas * (1.0 - episode);
  clock_ += wall;
  hazard_clock_ += wall;
  record(begin, replicas < 1.0 ? TimeUse::kDegraded : (episode < 1.0 ? TimeUse::kStragglers : TimeUse::kUseful), "");
}

void JobRun::handle(Next event) {
  switch (event) {
    case Next::kFailure:
      recover(arrivals_.take());
      break;
    case Next::kCorruption:
      start_corruption();
      break;
    case Next::kDiscovery:
      discover();
      break;
    case Next::kPlanned:
      planned_stop();
      break;
    case Next::kEpisode:
      start_episode();
      break;
    case Next::kChange:
      change();
      break;
    case Next::kDone:
    case Next::kOutOfTime:
      check(false, "the end of a run is no event");
  }
}

// ---- Standing still ---------------------------------------------------------------------------------------------

void JobRun::pause(double wall, TimeUse use, const std::string& cause) {
  const double begin = clock_;
  clock_ += wall;
  outcome_.uses[use] += wall;
  record(begin, use, cause);
}

bool JobRun::stand(double wall, TimeUse use, const std::string& cause) {
  if (!job_.recovery_can_fail) {
    pause(wall, use, cause);
    return false;
  }
  double left = wall;
  for (;;) {
    const double end = hazard_clock_ + left;
    const double failure = arrivals_.next_time();
    const double stop = std::min({end, failure, next_planned_});
    const double part = std::max(0.0, stop - hazard_clock_);
    pause(part, use, cause);
    hazard_clock_ = std::max(hazard_clock_, stop);
    left -= part;
    if (stop == end) {
      return false;
    }
    if (stop == failure) {
      return true;
    }
    planned_stop();
  }
}

void JobRun::planned_stop() {
  pause(job_.planned.duration.value.si(), TimeUse::kPlanned, "planned");
  next_planned_ = hazard_clock_ + next_of(random_, job_.planned.rate.value.si());
}

void JobRun::start_episode() {
  episode_end_ = std::max(episode_end_, clock_ + job_.stragglers.episode_duration.value.si());
  next_episode_ = hazard_clock_ + next_of(random_, job_.stragglers.episode_rate.value.si());
}

// ---- Corruption -------------------------------------------------------------------------------------------------

void JobRun::start_corruption() {
  const CorruptionRates& rates = setup_.corruption.total;
  const bool found = random_.uniform() * (rates.found + rates.undetected) < rates.found;
  corruptions_.push_back(
      {progress_.work(), found ? clock_ + setup_.corruption.latency * random_.exponential() : kNever});
  next_corruption_ = hazard_clock_ + next_of(random_, rates.found + rates.undetected);
}

void JobRun::discover() {
  const auto found = std::min_element(corruptions_.begin(), corruptions_.end(),
                                      [](const Corruption& a, const Corruption& b) { return a.found_at < b.found_at; });
  const double archive = job_.checkpoints.archive_interval ? job_.checkpoints.archive_interval->si() : kNever;
  const double since = found->work;
  ++outcome_.corruptions_found;
  lose(progress_.back_before(since, job_.checkpoints.keep, archive), TimeUse::kCorruption);
  const RestartStages& stages = job_.restart;
  const double restart = (stages.evict.value + stages.schedule.value + stages.process_start.value +
                          stages.communicator_init.value + stages.load_storage.value + stages.warm_up.value)
                             .si();
  if (stand(restart_of(restart), TimeUse::kCorruption, "corruption found")) {
    recover(arrivals_.take());
  }
}

// ---- Failures ---------------------------------------------------------------------------------------------------

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
    noticed = std::max(noticed, clock_ + detection_of(*path));
    stall_end = std::max(stall_end, noticed + job_.replicas.stall.value.si());
    double manned = stall_end;
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

// ---- Timeline ---------------------------------------------------------------------------------------------------

std::string JobRun::name_of(std::size_t hazard) const {
  return hazard < job_.hazards.size() ? job_.hazards[hazard].name : "NaN or Inf";
}

void JobRun::record(double begin, TimeUse use, const std::string& cause) {
  if (timeline_ == nullptr || begin >= timeline_end_ || clock_ <= begin) {
    return;
  }
  const Seconds end = from_si<Seconds>(std::min(clock_, timeline_end_));
  if (!timeline_->empty() && timeline_->back().use == use && timeline_->back().cause == cause &&
      timeline_->back().end.si() >= begin) {
    timeline_->back().end = end;
    timeline_->back().work = progress_.work();
    return;
  }
  timeline_->push_back({from_si<Seconds>(begin), end, use, cause, progress_.work()});
}

}  // namespace trainyard::simulator
