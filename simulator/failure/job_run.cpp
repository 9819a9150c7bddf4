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
    const std::int64_t manned = std::max<std::int64_t>(0, nodes) / job_.replicas.nodes_each;
    return static_cast<double>(manned) / replicas;
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
