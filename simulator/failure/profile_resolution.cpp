#include "simulator/failure/profile_resolution.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"
#include "simulator/failure/corruption_sites.h"

namespace trainyard::simulator {

namespace {

constexpr double kDay = 86400.0;
constexpr double kRefaultWindow = 7.0 * kDay;
constexpr double kGigabyte = 1e9;
constexpr double kMemoryPlanning = 0.02;  // s of a snapshot to host memory: ByteRobust blocks 0.01 to 0.04 s (S)
constexpr std::array kDomains = {FaultDomain::kProcess, FaultDomain::kGpu,  FaultDomain::kNode,
                                 FaultDomain::kRack,    FaultDomain::kLeaf, FaultDomain::kPowerDomain,
                                 FaultDomain::kJob};

template <class T>
Ranged<T> ranged(const Published<T>& number) {
  return {number.value, number.low, number.high};
}

template <class T>
Ranged<T> scaled(const Ranged<T>& number, double factor) {
  return {number.value * factor, number.low * factor, number.high * factor};
}

Ranged<Seconds> plus(const Ranged<Seconds>& a, const Ranged<Seconds>& b) {
  return {a.value + b.value, a.low + b.low, a.high + b.high};
}

class Resolution {
 public:
  Resolution(const FailureProfile& profile, const JobInput& input)
      : profile_(profile), input_(input), copies_(input.model, input.layout, input.domains) {}

  ResolvedJob resolve() {
    result_.size = checkpoint_size(input_.model, input_.layout, input_.training.optimizer);
    result_.times = checkpoint_times(result_.size, input_.domains, profile_.storage, input_.front_end,
                                     input_.accelerator, input_.network);
    result_.copies_on_devices = copies_.on_devices();
    take_job();
    take_hazards();
    take_restart();
    take_checkpoints();
    take_replicas();
    take_spares();
    take_stragglers();
    take_corruption();
    return std::move(result_);
  }

 private:
  JobModel& job() { return result_.job; }

  void take_job() {
    job().nodes = input_.domains.nodes();
    job().gpus_per_node = std::max<std::int64_t>(1, std::llround(input_.domains.gpus_per_node()));
    job().step_time = input_.step_time;
    job().tokens_per_step = static_cast<double>(input_.training.global_batch * input_.training.sequence);
    job().policy = input_.policy;
    job().fleet_factor = ranged(profile_.fleet_factor);
    if (input_.overrides.hang_timeout) {
      job().policy.hang_timeout = *input_.overrides.hang_timeout;
    }
  }

  Ranged<Seconds> silent_detection() const {
    return input_.overrides.hang_timeout ? exactly(*input_.overrides.hang_timeout)
                                         : ranged(profile_.recovery.hang_timeout);
  }

  Ranged<Seconds> explicit_detection() const {
    return input_.overrides.measured.detect.value_or(ranged(profile_.recovery.detect_explicit));
  }

  double copies_left(const DomainEffect& effect) const {
    return input_.policy.kind == RecoveryKind::kDropReplica ? effect.devices_left : effect.peers_left;
  }

  void take_hazards() {
    if (input_.overrides.mean_time_between_failures) {
      take_one_hazard(*input_.overrides.mean_time_between_failures);
      return;
    }
    job().frailty = profile_.frailty ? std::optional(profile_.frailty->value) : std::nullopt;
    for (const FaultDomain domain : kDomains) {
      const bool used = std::ranges::any_of(
          profile_.failures, [&](const PublishedFailure& failure) { return failure.takes_down == domain; });
      if (used) {
        take_domain(domain);
      }
    }
  }

  void take_domain(FaultDomain domain) {
    DomainEffect effect{domain, input_.domains.groups(domain), input_.domains.mean_nodes(domain), {}, 0.0, 0.0, {}};
    effect.devices_left = copies_.devices_left(domain);
    effect.peers_left = copies_.peers_left(domain);
    for (const PublishedFailure& failure : profile_.failures) {
      if (failure.takes_down != domain) {
        continue;
      }
      const Hazard hazard = hazard_of(failure, effect);
      effect.rate += hazard.rate.value;
      effect.classes.push_back(failure.name);
      job().hazards.push_back(hazard);
    }
    result_.effects.push_back(effect);
  }

  Hazard hazard_of(const PublishedFailure& failure, const DomainEffect& effect) const {
    const bool by_host = failure.of == Exposure::kNode || failure.of == Exposure::kRack;
    const double size = by_host ? input_.domains.gpus_per_node() / static_cast<double>(profile_.gpus_per_node) : 1.0;
    const PublishedRepair& repair = profile_.repair(failure.repair);
    Hazard hazard;
    hazard.name = failure.name;
    hazard.rate = scaled(ranged(failure.rate), size * input_.domains.exposed(failure.of));
    const bool of_nodes = failure.of == Exposure::kNode || failure.of == Exposure::kGpu || failure.of == Exposure::kNic;
    hazard.law = failure.weibull_shape          ? ArrivalLaw::kWeibull
                 : profile_.frailty && of_nodes ? ArrivalLaw::kFrailty
                                                : ArrivalLaw::kExponential;
    hazard.weibull_shape = failure.weibull_shape ? failure.weibull_shape->value : 1.0;
    hazard.silent_share = ranged(failure.silent);
    hazard.detection = explicit_detection();
    hazard.silent_detection = silent_detection();
    hazard.nodes_down = effect.domain == FaultDomain::kProcess
                            ? 0
                            : std::max<std::int64_t>(effect.nodes > 0.0 ? 1 : 0, std::llround(effect.nodes));
    hazard.process_restart_share = ranged(failure.process_restart);
    hazard.copies_survive = exactly(copies_left(effect));
    hazard.repair = {repair.median.value, repair.log_sigma.value, repair.limit};
    hazard.refault_share = ranged(profile_.refault);
    hazard.refault_window = from_si<Seconds>(kRefaultWindow);
    return hazard;
  }

  // As one process that dies and is started again.
  void take_one_hazard(Seconds mean) {
    Hazard hazard;
    hazard.name = "kill";
    hazard.rate = exactly(from_si<PerSecond>(1.0 / mean.si()));
    hazard.silent_share = exactly(0.0);
    hazard.detection = explicit_detection();
    hazard.silent_detection = silent_detection();
    hazard.process_restart_share = exactly(1.0);
    hazard.copies_survive = exactly(1.0);
    hazard.refault_share = exactly(0.0);
    job().hazards.push_back(hazard);
    job().fleet_factor = exactly(1.0);
    DomainEffect effect{FaultDomain::kProcess, input_.domains.nodes(), 0.0, hazard.rate.value, 1.0, 1.0, {"kill"}};
    result_.effects.push_back(effect);
  }

  void take_restart() {
    const PublishedRecovery& recovery = profile_.recovery;
    RestartStages& restart = job().restart;
    restart.evict = exactly(Seconds());
    restart.load_memory = result_.times.load_memory;
    if (const auto& measured = input_.overrides.measured.restart) {
      const Ranged<Seconds> load = input_.overrides.measured.load.value_or(exactly(Seconds()));
      const Ranged<Seconds> none = exactly(Seconds());
      restart.schedule = restart.spare_join = restart.process_start = restart.communicator_init = restart.warm_up =
          none;
      restart.in_process = none;
      const auto less = [](Seconds all, Seconds part) { return max(all - part, Seconds()); };
      const Seconds value = less(measured->value, load.value);
      const Seconds low = less(measured->low, load.low);
      const Seconds high = less(measured->high, load.high);
      // Loads may scatter more than whole restarts do: then the ends change places.
      restart.process_start = {value, min(value, min(low, high)), max(value, max(low, high))};
      restart.load_storage = load;
      job().planned = {exactly(PerSecond()), none};
      return;
    }
    restart.schedule = ranged(recovery.schedule);
    restart.spare_join = ranged(recovery.spare_join);
    restart.process_start = ranged(recovery.process_start);
    restart.in_process = ranged(recovery.in_process);
    restart.communicator_init = communicator_init(recovery, input_.domains.ranks());
    restart.load_storage = input_.overrides.measured.load.value_or(result_.times.load_storage);
    restart.warm_up = ranged(recovery.warm_up);
    restart.tail_sigma = recovery.restart_log_sigma.value;
    job().planned.rate = ranged(recovery.planned_stops);
    job().planned.duration = plus(plus(plus(restart.schedule, restart.process_start), restart.communicator_init),
                                  plus(restart.load_storage, restart.warm_up));
    if (input_.overrides.mean_time_between_failures) {
      job().planned.rate = exactly(PerSecond());
    }
  }

  void take_checkpoints() {
    Checkpoints& checkpoints = job().checkpoints;
    const MeasuredRecovery& measured = input_.overrides.measured;
    checkpoints.state = result_.size.state;
    checkpoints.largest_shard = result_.size.largest_saved;
    checkpoints.keep = input_.checkpoint.keep;
    checkpoints.archive_interval = input_.overrides.archive_interval;
    checkpoints.unusable_share = measured.restart ? exactly(0.0) : ranged(profile_.storage.unusable);
    CheckpointLevel& storage = checkpoints.storage;
    storage.blocking = measured.blocking.value_or(result_.times.blocking);
    storage.write = measured.write.value_or(result_.times.write);
    if (!input_.checkpoint.asynchronous) {
      storage.blocking = plus(storage.blocking, storage.write);
      storage.write = exactly(Seconds());
    }
    storage.interval = storage_interval();
    const RecoveryKind kind = input_.policy.kind;
    if (kind == RecoveryKind::kPeerMemory || kind == RecoveryKind::kTwoLevel || kind == RecoveryKind::kInProcess) {
      CheckpointLevel memory;
      const Ranged<Seconds> copied = result_.times.load_memory;  // the same bytes or fewer, the other way
      memory.blocking =
          plus(exactly(from_si<Seconds>(kMemoryPlanning)), {snapshot().value, snapshot().low, snapshot().high});
      memory.write = copied;
      memory.interval = input_.overrides.memory_interval.value_or(
          max(input_.step_time, min(storage.interval, from_si<Seconds>(60.0))));
      checkpoints.memory = memory;
    }
  }

  // Copy to host memory alone.
  Ranged<Seconds> snapshot() const {
    const Ranged<Seconds>& all = result_.times.blocking;
    const Published<Seconds>& planning = profile_.storage.blocking;
    return {all.value - planning.value, all.low - planning.low, all.high - planning.high};
  }

  Seconds storage_interval() {
    if (input_.overrides.interval) {
      return *input_.overrides.interval;
    }
    if (input_.checkpoint.every_steps) {
      return static_cast<double>(*input_.checkpoint.every_steps) * input_.step_time;
    }
    PerSecond rate;
    for (const Hazard& hazard : job().hazards) {
      rate += hazard.rate.value;
    }
    const Seconds longest = from_si<Seconds>(kDay);
    if (!(rate > PerSecond())) {
      return longest;
    }
    const Seconds blocking = max(job().checkpoints.storage.blocking.value, from_si<Seconds>(1e-3));
    const Seconds young = from_si<Seconds>(std::sqrt(2.0 * blocking.si() / rate.si()));
    return min(max(max(young, job().checkpoints.storage.write.value), input_.step_time), longest);
  }

  void take_replicas() {
    Replicas& replicas = job().replicas;
    const PublishedRecovery& recovery = profile_.recovery;
    replicas.count = copies_.on_devices();
    if (replicas.count > job().nodes) {
      replicas.count = job().nodes;
    }
    replicas.nodes_each = std::max<std::int64_t>(1, job().nodes / replicas.count);
    replicas.stall = ranged(recovery.replica_stall);
    replicas.rebuild = ranged(recovery.replica_rebuild);
    replicas.reshard = ranged(recovery.reshard);
    if (input_.policy.kind == RecoveryKind::kDropReplica && replicas.count < 2) {
      throw Error(copies_.on_devices() < 2
                      ? "this layout has one copy of the optimizer state: ZeRO shards it over all data-parallel ranks"
                      : "all data-parallel replicas are on one node",
                  "--policy drop_replica", "a layout with shard_group (hybrid sharding), or another policy");
    }
  }

  void take_spares() {
    if (input_.overrides.mean_time_between_failures) {
      return;
    }
    const double usual = std::ceil(profile_.recovery.hot_spares.value * static_cast<double>(job().nodes));
    const std::int64_t planned = input_.policy.spare_nodes > 0 ? input_.policy.spare_nodes : std::llround(usual);
    job().spares.nodes = input_.overrides.spares.value_or(planned);
    job().spares.provision = profile_.recovery.provision.value;
    job().policy.spare_nodes = job().spares.nodes;
  }

  void take_stragglers() {
    if (input_.overrides.mean_time_between_failures) {
      job().stragglers = {exactly(0.0), exactly(PerSecond()), exactly(Seconds()), exactly(0.0)};
      return;
    }
    const PublishedStragglers& published = profile_.stragglers;
    const auto gpus = static_cast<double>(input_.domains.ranks());
    const auto known = static_cast<double>(published.measured_gpus);
    const auto reach = [](double count) { return count > 1.0 ? std::sqrt(2.0 * std::log(count)) : 0.0; };
    const double beyond = std::max(0.0, reach(gpus) - reach(known));
    const auto slowest = [&](double share, double slowdown, double spread) {
      const double any = -std::expm1(static_cast<double>(job().nodes) * std::log1p(-std::min(share, 1.0 - 1e-9)));
      return any * slowdown + spread * beyond;
    };
    job().stragglers.slowdown = {
        slowest(published.slow_nodes.value, published.slowdown.value, published.speed_spread.value),
        slowest(published.slow_nodes.low, published.slowdown.low, published.speed_spread.low),
        slowest(published.slow_nodes.high, published.slowdown.high, published.speed_spread.high)};
    job().stragglers.episode_rate = ranged(published.episodes);
    job().stragglers.episode_duration = ranged(published.episode_duration);
    job().stragglers.episode_slowdown = ranged(published.episode_slowdown);
  }

  void take_corruption() {
    const PublishedCorruption& published = profile_.corruption;
    CorruptionModel& corruption = job().corruption;
    if (input_.overrides.mean_time_between_failures || input_.accelerator == nullptr) {
      return;
    }
    const auto gpus = static_cast<double>(input_.domains.ranks());
    const double gigabytes = gpus * static_cast<double>(input_.accelerator->memory.value.value()) / kGigabyte;
    corruption.compute_errors = scaled(ranged(published.incidents), gpus);
    const auto missed = [&](PerSecond rate, double share) {
      return rate * (share * gigabytes * published.altitude_factor);
    };
    corruption.stored_bits = {missed(published.memory_errors.value, published.memory_errors_missed.value),
                              missed(published.memory_errors.low, published.memory_errors_missed.low),
                              missed(published.memory_errors.high, published.memory_errors_missed.high)};
    ComputeErrorValues values;
    values.zeroed = published.values.zeroed;
    values.flipped = published.values.bit_flip;
    values.not_finite = published.values.not_finite;
    values.single_bit = published.values.single_bit;
    corruption.checksum_coverage = ranged(published.compute_checksums);
    corruption.sites = training_sites(memory(), values);
    for (const PublishedDetector& detector : profile_.detectors) {
      corruption.detectors.push_back({detector.kind, ranged(detector.coverage), ranged(detector.overhead),
                                      ranged(detector.false_alarms), ranged(detector.alarm_cost),
                                      ranged(detector.latency)});
    }
  }

  TrainingMemory memory() const {
    const Layout& layout = input_.layout;
    TrainingMemory memory;
    memory.weights = result_.size.weights;
    memory.optimizer = result_.size.optimizer;
    memory.gradients = result_.size.gradients;
    memory.activations = input_.activations;
    memory.weight_type = layout.parameter_type;
    memory.activation_type = layout.compute_type;
    memory.gradient_type = layout.gradient_type;
    memory.optimizer_type = layout.optimizer_type;
    memory.communication_type = layout.communication_type;
    memory.master_weights = stored_bytes(layout.parameter_type) < stored_bytes(DataType::kFp32);
    return memory;
  }

  const FailureProfile& profile_;
  const JobInput& input_;
  StateCopies copies_;
  ResolvedJob result_;
};

}  // namespace

Ranged<Seconds> communicator_init(const PublishedRecovery& recovery, std::int64_t ranks) {
  const std::vector<InitTime>& known = recovery.communicator_init;
  const auto gpus = static_cast<double>(ranks);
  if (ranks <= known.front().gpus) {
    return ranged(known.front().time);
  }
  if (ranks >= known.back().gpus) {
    return scaled(ranged(known.back().time), gpus / static_cast<double>(known.back().gpus));
  }
  const auto above = std::ranges::find_if(known, [&](const InitTime& init) { return init.gpus > ranks; });
  const auto below = above - 1;
  const double from = std::log(static_cast<double>(below->gpus));
  const double to = std::log(static_cast<double>(above->gpus));
  const double part = (std::log(gpus) - from) / (to - from);
  const auto between = [&](Seconds a, Seconds b) {
    return from_si<Seconds>(std::exp((1.0 - part) * std::log(a.si()) + part * std::log(b.si())));
  };
  const Published<Seconds>& a = below->time;
  const Published<Seconds>& b = above->time;
  Ranged<Seconds> time{between(a.value, b.value), between(a.low, b.low), between(a.high, b.high)};
  return {time.value, min(time.low, time.value), max(time.high, time.value)};
}

ResolvedJob resolve_job(const FailureProfile& profile, const JobInput& input) {
  check(input.step_time > Seconds(), "a step takes time");
  return Resolution(profile, input).resolve();
}

}  // namespace trainyard::simulator
