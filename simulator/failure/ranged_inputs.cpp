#include "simulator/failure/ranged_inputs.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace trainyard::simulator {
namespace {

constexpr double kNormal95 = 1.6448536269514722;  // 95th percentile of the standard normal

double number(double value) { return value; }
template <int S, int B, int F>
double number(Quantity<S, B, F> value) {
  return value.si();
}
void assign(double& to, double value) { to = value; }
template <int S, int B, int F>
void assign(Quantity<S, B, F>& to, double value) {
  to = from_si<Quantity<S, B, F>>(value);
}

template <class Visit>
void visit_hazard(Hazard& hazard, const Visit& visit) {
  visit("rate of ", hazard.name, RangeKind::kQuantity, hazard.rate);
  visit("silent share of ", hazard.name, RangeKind::kShare, hazard.silent_share);
  visit("detection of ", hazard.name, RangeKind::kQuantity, hazard.detection);
  visit("silent detection of ", hazard.name, RangeKind::kQuantity, hazard.silent_detection);
  visit("process restart share of ", hazard.name, RangeKind::kShare, hazard.process_restart_share);
  visit("copies that survive ", hazard.name, RangeKind::kShare, hazard.copies_survive);
  visit("refault share of ", hazard.name, RangeKind::kShare, hazard.refault_share);
}

template <class Visit>
void visit_restart(RestartStages& restart, const Visit& visit) {
  const std::string none;
  visit("restart: evict", none, RangeKind::kQuantity, restart.evict);
  visit("restart: schedule", none, RangeKind::kQuantity, restart.schedule);
  visit("restart: spare joins", none, RangeKind::kQuantity, restart.spare_join);
  visit("restart: processes start", none, RangeKind::kQuantity, restart.process_start);
  visit("restart: in process", none, RangeKind::kQuantity, restart.in_process);
  visit("restart: communicator init", none, RangeKind::kQuantity, restart.communicator_init);
  visit("restart: load from storage", none, RangeKind::kQuantity, restart.load_storage);
  visit("restart: load from memory", none, RangeKind::kQuantity, restart.load_memory);
  visit("restart: warm-up", none, RangeKind::kQuantity, restart.warm_up);
}

template <class Visit>
void visit_checkpoints(Checkpoints& checkpoints, const Visit& visit) {
  const std::string none;
  visit("save: blocking", none, RangeKind::kQuantity, checkpoints.storage.blocking);
  visit("save: background write", none, RangeKind::kQuantity, checkpoints.storage.write);
  if (checkpoints.memory) {
    visit("memory save: blocking", none, RangeKind::kQuantity, checkpoints.memory->blocking);
    visit("memory save: copy to peers", none, RangeKind::kQuantity, checkpoints.memory->write);
  }
  visit("unusable saves", none, RangeKind::kShare, checkpoints.unusable_share);
}

template <class Visit>
void visit_corruption(CorruptionModel& corruption, const Visit& visit) {
  const std::string none;
  visit("compute errors", none, RangeKind::kQuantity, corruption.compute_errors);
  visit("stored-bit upsets", none, RangeKind::kQuantity, corruption.stored_bits);
  visit("checksum coverage", none, RangeKind::kShare, corruption.checksum_coverage);
  for (Detector& detector : corruption.detectors) {
    const std::string name(to_string(detector.kind));
    visit("coverage of ", name, RangeKind::kShare, detector.coverage);
    visit("overhead of ", name, RangeKind::kQuantity, detector.overhead);
    visit("false alarms of ", name, RangeKind::kQuantity, detector.false_alarms);
    visit("cost of an alarm of ", name, RangeKind::kQuantity, detector.alarm_cost);
    visit("latency of ", name, RangeKind::kQuantity, detector.latency);
  }
}

// visit(text, name, kind, range): the input's name is text + name.
template <class Visit>
void visit_inputs(JobModel& job, const Visit& visit) {
  const std::string none;
  visit("all failure rates (fleets differ)", none, RangeKind::kQuantity, job.fleet_factor);
  for (Hazard& hazard : job.hazards) {
    visit_hazard(hazard, visit);
  }
  visit("planned stops", none, RangeKind::kQuantity, job.planned.rate);
  visit("length of a planned stop", none, RangeKind::kQuantity, job.planned.duration);
  visit_restart(job.restart, visit);
  visit_checkpoints(job.checkpoints, visit);
  visit("replicas: stall", none, RangeKind::kQuantity, job.replicas.stall);
  visit("replicas: rebuild", none, RangeKind::kQuantity, job.replicas.rebuild);
  visit("replicas: reshard", none, RangeKind::kQuantity, job.replicas.reshard);
  visit("stragglers: slowdown", none, RangeKind::kQuantity, job.stragglers.slowdown);
  visit("stragglers: episodes", none, RangeKind::kQuantity, job.stragglers.episode_rate);
  visit("stragglers: length of an episode", none, RangeKind::kQuantity, job.stragglers.episode_duration);
  visit("stragglers: slowdown in an episode", none, RangeKind::kQuantity, job.stragglers.episode_slowdown);
  visit_corruption(job.corruption, visit);
}

double towards(double value, double low, double high, double z) {
  return value + z / kNormal95 * (z > 0.0 ? high - value : value - low);
}

double odds(double share) { return share / (1.0 - share); }

}  // namespace

double ranged_value(const RangedInput& input, double z) {
  if (input.exact()) {
    return input.value;
  }
  const bool share = input.kind == RangeKind::kShare;
  if (input.low > 0.0 && (!share || input.high < 1.0)) {
    const auto scale = [share](double x) { return std::log(share ? odds(x) : x); };
    const double x = std::exp(towards(scale(input.value), scale(input.low), scale(input.high), z));
    return share ? x / (1.0 + x) : x;
  }
  const double x = std::max(0.0, towards(input.value, input.low, input.high, z));
  return share ? std::min(1.0, x) : x;
}

std::vector<RangedInput> ranged_inputs(const JobModel& job) {
  std::vector<RangedInput> inputs;
  JobModel copy = job;
  visit_inputs(copy, [&inputs](const char* text, const std::string& name, RangeKind kind, const auto& range) {
    inputs.push_back({text + name, kind, number(range.value), number(range.low), number(range.high)});
  });
  return inputs;
}

void set_inputs(JobModel& job, const std::vector<double>& values) {
  std::size_t next = 0;
  visit_inputs(job, [&](const char*, const std::string&, RangeKind, auto& range) {
    check(next < values.size(), "a value for every ranged input");
    assign(range.value, values[next++]);
  });
}

}  // namespace trainyard::simulator
