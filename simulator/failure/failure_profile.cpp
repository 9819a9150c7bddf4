#include "simulator/failure/failure_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "core/document/json_document.h"
#include "core/error.h"
#include "core/plan/shipped.h"

namespace trainyard::simulator {

namespace {

constexpr double kMostShare = 1.0;
constexpr double kMostSigma = 5.0;

// {"value", "low", "high", "source"}: low and high together or not at all.
template <class T, class Read>
Published<T> published(ObjectReader& parent, std::string_view key, const Read& read) {
  ObjectReader entry = parent.object(key);
  Published<T> result;
  result.value = read(entry, "value");
  const bool range = entry.has("low") || entry.has("high");
  result.low = range ? read(entry, "low") : result.value;
  result.high = range ? read(entry, "high") : result.value;
  result.source = entry.text("source");
  if (result.source.empty()) {
    entry.fail("source", "is empty", "say where the number is from, or that it is a judgement");
  }
  if (result.value < result.low || result.high < result.value) {
    entry.fail("value", "isn't between low and high", "low <= value <= high");
  }
  entry.finish();
  return result;
}

Published<double> share(ObjectReader& parent, std::string_view key, double highest = kMostShare) {
  return published<double>(
      parent, key, [=](ObjectReader& entry, std::string_view name) { return entry.number(name, 0.0, highest); });
}

template <class Q>
Published<Q> quantity(ObjectReader& parent, std::string_view key) {
  return published<Q>(parent, key, [](ObjectReader& entry, std::string_view name) { return entry.quantity<Q>(name); });
}

template <class Q>
Published<Q> positive(ObjectReader& parent, std::string_view key) {
  return published<Q>(parent, key, [](ObjectReader& entry, std::string_view name) {
    const Q value = entry.quantity<Q>(name);
    if (!(value > Q())) {
      entry.fail(name, "must be more than 0");
    }
    return value;
  });
}

// All three of one exposure, which `of` receives.
Published<PerSecond> rate(ObjectReader& parent, std::string_view key, Exposure& of) {
  std::optional<Exposure> first;
  auto result = published<PerSecond>(parent, key, [&first](ObjectReader& entry, std::string_view name) {
    const FailureRate read = parse_failure_rate(entry.text(name), entry.where(name));
    if (first.value_or(read.of) != read.of) {
      entry.fail(name, "counts other things than value does", "value, low and high per the same thing");
    }
    first = read.of;
    return read.each;
  });
  of = *first;
  return result;
}

Published<PerSecond> rate_of(ObjectReader& parent, std::string_view key, Exposure wanted) {
  Exposure of = wanted;
  auto result = rate(parent, key, of);
  if (of != wanted) {
    parent.fail(key, fmt::format("counts failures per {}", to_string(of)), fmt::format("per {}", to_string(wanted)));
  }
  return result;
}

PublishedRepair read_repair(ObjectReader& reader) {
  PublishedRepair repair;
  repair.name = reader.text("name");
  repair.median = positive<Seconds>(reader, "median");
  repair.log_sigma = share(reader, "log_sigma", kMostSigma);
  repair.limit = reader.quantity<Seconds>("limit");
  if (repair.limit < repair.median.value) {
    reader.fail("limit", "is below the median", "the longest repair");
  }
  return repair;
}

PublishedFailure read_class(ObjectReader& reader, const FailureProfile& profile) {
  PublishedFailure failure;
  failure.name = reader.text("name");
  failure.component =
      reader.one_of("component", {Component::kGpu, Component::kGpuMemory, Component::kNic, Component::kCable,
                                  Component::kSwitch, Component::kHost, Component::kPower, Component::kSoftware,
                                  Component::kStorage, Component::kMaintenance, Component::kUnknown});
  failure.rate = rate(reader, "rate", failure.of);
  if (failure.of == Exposure::kGigabyte) {
    reader.fail("rate", "a failure of a part isn't counted per GB", "per node, GPU, NIC, cable, switch, rack or job");
  }
  failure.takes_down =
      reader.one_of("takes_down", {FaultDomain::kProcess, FaultDomain::kGpu, FaultDomain::kNode, FaultDomain::kRack,
                                   FaultDomain::kLeaf, FaultDomain::kPowerDomain, FaultDomain::kJob});
  if (reader.has("weibull_shape")) {
    failure.weibull_shape = share(reader, "weibull_shape", 10.0);
    if (failure.weibull_shape->low < 0.1) {
      reader.fail("weibull_shape", "must be 0.1 to 10", "1 is exponential, less is bursts");
    }
  }
  failure.silent = share(reader, "silent");
  failure.process_restart = share(reader, "process_restart");
  failure.repair = reader.text("repair");
  const bool known = std::ranges::any_of(profile.repairs,
                                         [&](const PublishedRepair& repair) { return repair.name == failure.repair; });
  if (!known) {
    reader.fail("repair", fmt::format("there is no repair \"{}\"", failure.repair), "a name of \"repairs\"");
  }
  return failure;
}

PublishedCorruption read_corruption(ObjectReader reader) {
  PublishedCorruption corruption;
  corruption.incidents = rate_of(reader, "incidents", Exposure::kGpu);
  corruption.defective_devices = share(reader, "defective_devices");
  corruption.memory_errors = rate_of(reader, "memory_errors", Exposure::kGigabyte);
  corruption.memory_errors_missed = share(reader, "memory_errors_missed");
  corruption.altitude_factor = reader.number("altitude_factor", 0.1, 100.0);
  corruption.compute_checksums = share(reader, "compute_checksums");
  ObjectReader values = reader.object("values");
  corruption.values.zeroed = values.number("zeroed", 0.0, 1.0);
  corruption.values.bit_flip = values.number("bit_flip", 0.0, 1.0);
  corruption.values.not_finite = values.number("not_finite", 0.0, 1.0);
  corruption.values.single_bit = values.number("single_bit", 0.0, 1.0);
  corruption.values.source = values.text("source");
  const double sum = corruption.values.zeroed + corruption.values.bit_flip + corruption.values.not_finite;
  constexpr double kRounding = 0.005;
  if (sum < 1.0 - kRounding || sum > 1.0 + kRounding) {
    values.fail("zeroed", fmt::format("zeroed, bit_flip and not_finite add up to {:.3f}", sum), "shares of 1");
  }
  values.finish();
  reader.finish();
  return corruption;
}

PublishedDetector read_detector(ObjectReader& reader) {
  PublishedDetector detector;
  detector.kind =
      reader.one_of("kind", {DetectorKind::kLossSpike, DetectorKind::kGradientNorm, DetectorKind::kReplicaHash,
                             DetectorKind::kGemmChecksum, DetectorKind::kReexecution});
  detector.coverage = share(reader, "coverage");
  detector.overhead = share(reader, "overhead");
  detector.false_alarms = rate_of(reader, "false_alarms", Exposure::kJob);
  detector.alarm_cost = quantity<Seconds>(reader, "alarm_cost");
  detector.latency = quantity<Seconds>(reader, "latency");
  return detector;
}

PublishedRecovery read_recovery(ObjectReader reader) {
  PublishedRecovery recovery;
  recovery.detect_explicit = quantity<Seconds>(reader, "detect_explicit");
  recovery.hang_timeout = positive<Seconds>(reader, "hang_timeout");
  recovery.schedule = quantity<Seconds>(reader, "schedule");
  recovery.spare_join = quantity<Seconds>(reader, "spare_join");
  recovery.provision = quantity<Seconds>(reader, "provision");
  recovery.process_start = quantity<Seconds>(reader, "process_start");
  recovery.in_process = quantity<Seconds>(reader, "in_process");
  reader.for_each_object("communicator_init", [&](ObjectReader& entry) {
    InitTime init;
    init.gpus = entry.integer("gpus", 1);
    init.time = positive<Seconds>(entry, "time");
    if (!recovery.communicator_init.empty() && recovery.communicator_init.back().gpus >= init.gpus) {
      entry.fail("gpus", "isn't above the one before", "ascending");
    }
    recovery.communicator_init.push_back(init);
  });
  if (recovery.communicator_init.empty()) {
    reader.fail("communicator_init", "is empty", "at least one number of GPUs and its time");
  }
  recovery.warm_up = quantity<Seconds>(reader, "warm_up");
  recovery.restart_log_sigma = share(reader, "restart_log_sigma", kMostSigma);
  recovery.replica_stall = quantity<Seconds>(reader, "replica_stall");
  recovery.replica_rebuild = quantity<Seconds>(reader, "replica_rebuild");
  recovery.reshard = quantity<Seconds>(reader, "reshard");
  recovery.planned_stops = rate_of(reader, "planned_stops", Exposure::kJob);
  recovery.hot_spares = share(reader, "hot_spares");
  reader.finish();
  return recovery;
}

PublishedStorage read_storage(ObjectReader reader) {
  PublishedStorage storage;
  storage.write = positive<BytesPerSecond>(reader, "write");
  storage.read = positive<BytesPerSecond>(reader, "read");
  storage.node = positive<BytesPerSecond>(reader, "node");
  storage.blocking = quantity<Seconds>(reader, "blocking");
  storage.host_link = positive<BytesPerSecond>(reader, "host_link");
  storage.host_link_share = share(reader, "host_link_share");
  storage.unusable = share(reader, "unusable");
  if (!(storage.host_link_share.low > 0.0)) {
    reader.fail("host_link_share", "must be more than 0");
  }
  reader.finish();
  return storage;
}

PublishedStragglers read_stragglers(ObjectReader reader) {
  PublishedStragglers stragglers;
  stragglers.slow_nodes = share(reader, "slow_nodes");
  stragglers.slowdown = share(reader, "slowdown", 10.0);
  stragglers.speed_spread = share(reader, "speed_spread");
  stragglers.measured_gpus = reader.integer("measured_gpus", 1);
  stragglers.episodes = rate_of(reader, "episodes", Exposure::kJob);
  stragglers.episode_duration = quantity<Seconds>(reader, "episode_duration");
  stragglers.episode_slowdown = share(reader, "episode_slowdown", 10.0);
  reader.finish();
  return stragglers;
}

}  // namespace

const PublishedRepair& FailureProfile::repair(const std::string& wanted) const {
  const auto found = std::ranges::find(repairs, wanted, &PublishedRepair::name);
  check(found != repairs.end(), "a class's repair is one of the profile's");
  return *found;
}

FailureProfile parse_failure_profile(const std::string& text, const std::string& where) {
  ObjectReader root = parse_json_object(text, where);
  root.document("failure_profile", kFailureProfileSchema);
  FailureProfile profile;
  profile.name = root.text("name");
  profile.about = root.text("about");
  profile.gpus_per_node = root.integer("gpus_per_node", 1, 1 << 20);
  root.for_each_object("repairs", [&](ObjectReader& entry) { profile.repairs.push_back(read_repair(entry)); });
  root.for_each_object("failures",
                       [&](ObjectReader& entry) { profile.failures.push_back(read_class(entry, profile)); });
  profile.fleet_factor = share(root, "fleet_factor", 1e3);
  if (!(profile.fleet_factor.low > 0.0) || profile.fleet_factor.value != 1.0) {
    root.fail("fleet_factor", "must have the value 1 and a low above 0", "how far fleets lie apart, as factors");
  }
  if (root.has("frailty")) {
    profile.frailty = share(root, "frailty", 1e6);
    if (!(profile.frailty->low > 0.0)) {
      root.fail("frailty", "must be more than 0", "leave it out for equal nodes");
    }
  }
  profile.refault = share(root, "refault");
  profile.nodes_per_rack = root.integer("nodes_per_rack", 1, 1 << 20);
  profile.nodes_per_power_domain = root.integer("nodes_per_power_domain", 1, 1 << 20);
  profile.racks_source = root.text("racks_source");
  profile.corruption = read_corruption(root.object("corruption"));
  root.for_each_object("detectors", [&](ObjectReader& entry) { profile.detectors.push_back(read_detector(entry)); });
  profile.recovery = read_recovery(root.object("recovery"));
  profile.storage = read_storage(root.object("storage"));
  profile.stragglers = read_stragglers(root.object("stragglers"));
  profile.notes = root.texts("notes");
  root.finish();
  return profile;
}

FailureProfile open_failure_profile(const std::string& word, const std::string& option) {
  const OpenedText opened = open_text(word, shipped_failures(), option);
  return parse_failure_profile(opened.text, opened.where);
}

std::string_view to_string(Component component) {
  switch (component) {
    case Component::kGpu:
      return "gpu";
    case Component::kGpuMemory:
      return "gpu_memory";
    case Component::kNic:
      return "nic";
    case Component::kCable:
      return "cable";
    case Component::kSwitch:
      return "switch";
    case Component::kHost:
      return "host";
    case Component::kPower:
      return "power";
    case Component::kSoftware:
      return "software";
    case Component::kStorage:
      return "storage";
    case Component::kMaintenance:
      return "maintenance";
    case Component::kUnknown:
      return "unknown";
  }
  return "?";
}

std::string_view to_string(FaultDomain domain) {
  switch (domain) {
    case FaultDomain::kProcess:
      return "process";
    case FaultDomain::kGpu:
      return "gpu";
    case FaultDomain::kNode:
      return "node";
    case FaultDomain::kRack:
      return "rack";
    case FaultDomain::kLeaf:
      return "leaf";
    case FaultDomain::kPowerDomain:
      return "power_domain";
    case FaultDomain::kJob:
      return "job";
  }
  return "?";
}

}  // namespace trainyard::simulator
