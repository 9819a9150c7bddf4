#include "simulator/failure/reliability_advice.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"
#include "simulator/failure/corruption_flow.h"

namespace trainyard::simulator {

namespace {

constexpr double kSafety = 5.0;
constexpr double kLeastHang = 30.0;
constexpr double kLeastJoin = 60.0;
constexpr double kMonth = 30.0 * 86400.0;
constexpr double kLongestOnStorage = 86400.0;  // s of work: memory doesn't outlive the cluster
constexpr double kWorthGoodput = 0.01;
constexpr double kHardwareChecksum = 0.99;  // of wrong products; as ECC has of stored bits (judgement)
constexpr std::array kPolicies = {
    RecoveryKind::kRestartFromStorage, RecoveryKind::kPeerMemory,  RecoveryKind::kTwoLevel, RecoveryKind::kInProcess,
    RecoveryKind::kHotSpares,          RecoveryKind::kDropReplica, RecoveryKind::kShrink};
constexpr std::array kDetectors = {DetectorKind::kLossSpike, DetectorKind::kGradientNorm, DetectorKind::kReplicaHash,
                                   DetectorKind::kGemmChecksum, DetectorKind::kReexecution};

DetectorAnswer with_detectors(JobModel job, const std::string& name, std::vector<DetectorKind> kinds) {
  job.policy.detectors = kinds;
  const Reliability reliability = analyse(job);
  DetectorAnswer answer;
  answer.name = name;
  answer.kinds = std::move(kinds);
  answer.goodput = reliability.goodput;
  answer.found_per_month = reliability.corruption.total.found * kMonth;
  answer.undetected_per_month = reliability.corruption.total.undetected * kMonth;
  answer.overhead = reliability.corruption.overhead;
  return answer;
}

}  // namespace

Timeouts advised_timeouts(const JobModel& job) {
  const double pause = job.step_time.si() + job.checkpoints.storage.blocking.value.si();
  Timeouts timeouts;
  timeouts.heartbeat = job.policy.heartbeat_timeout;
  timeouts.hang = from_si<Seconds>(std::ceil(std::max(kLeastHang, kSafety * pause)));
  timeouts.join =
      max(timeouts.hang, from_si<Seconds>(std::max(kLeastJoin, kSafety * job.restart.communicator_init.value.si())));
  return timeouts;
}

std::vector<PolicyAnswer> compare_policies(const std::function<ResolvedJob(RecoveryKind)>& resolve) {
  std::vector<PolicyAnswer> answers;
  for (const RecoveryKind kind : kPolicies) {
    PolicyAnswer answer;
    answer.kind = kind;
    try {
      ResolvedJob resolved = resolve(kind);
      answer.best = set_best_interval(resolved.job);
      answer.reliability = analyse(resolved.job);
    } catch (const Error& error) {
      answer.why_not = error.problem();
    }
    answers.push_back(std::move(answer));
  }
  return answers;
}

std::vector<DetectorAnswer> compare_detectors(const JobModel& job) {
  std::vector<DetectorAnswer> answers;
  answers.push_back(with_detectors(job, "none", {}));
  const std::vector<DetectorKind> free = {DetectorKind::kLossSpike, DetectorKind::kGradientNorm};
  for (const DetectorKind kind : kDetectors) {
    answers.push_back(with_detectors(job, std::string(to_string(kind)), {kind}));
  }
  answers.push_back(with_detectors(job, "loss_spike + gradient_norm", free));
  for (const DetectorKind kind :
       {DetectorKind::kReplicaHash, DetectorKind::kGemmChecksum, DetectorKind::kReexecution}) {
    std::vector<DetectorKind> kinds = free;
    kinds.push_back(kind);
    answers.push_back(with_detectors(job, "these + " + std::string(to_string(kind)), kinds));
  }
  answers.push_back(with_detectors(job, "all", {kDetectors.begin(), kDetectors.end()}));
  return answers;
}

DetectorAnswer with_checksum_hardware(JobModel job) {
  job.corruption.checksum_coverage = exactly(kHardwareChecksum);
  const std::vector<DetectorKind> kinds = job.policy.detectors;
  return with_detectors(std::move(job), "checksum hardware", kinds);
}

const DetectorAnswer& advised_detectors(const std::vector<DetectorAnswer>& answers, Seconds time) {
  check(!answers.empty(), "without detectors is an answer too");
  const double months = time.si() / kMonth;
  const DetectorAnswer* advised = nullptr;
  const auto left = [&](const DetectorAnswer& answer) { return answer.undetected_per_month * months; };
  for (const DetectorAnswer& answer : answers) {
    const bool affordable = answer.goodput >= (1.0 - kWorthGoodput) * answers.front().goodput;
    if (!affordable) {
      continue;
    }
    if (advised == nullptr) {
      advised = &answer;
    } else if (left(*advised) >= 1.0 ? left(answer) < left(*advised)
                                     : left(answer) < 1.0 && answer.goodput > advised->goodput) {
      advised = &answer;
    }
  }
  return advised != nullptr ? *advised : answers.front();
}

JobModel with_advice(JobModel job, const Timeouts& timeouts, std::optional<std::int64_t> spares,
                     const std::vector<DetectorKind>& detectors) {
  job.policy.hang_timeout = timeouts.hang;
  job.policy.heartbeat_timeout = timeouts.heartbeat;
  job.policy.detectors = detectors;
  if (spares) {
    job.spares.nodes = *spares;
    job.policy.spare_nodes = *spares;
  }
  for (Hazard& hazard : job.hazards) {
    hazard.silent_detection = exactly(timeouts.hang);
  }
  return job;
}

BestInterval set_best_interval(JobModel& job) {
  BestInterval best = best_interval(job);
  if (job.checkpoints.memory) {
    best.storage = min(best.storage, from_si<Seconds>(kLongestOnStorage));
  }
  job.checkpoints.storage.interval = best.storage;
  if (job.checkpoints.memory && best.memory) {
    job.checkpoints.memory->interval = *best.memory;
  }
  return best;
}

}  // namespace trainyard::simulator
