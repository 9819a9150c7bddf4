#include "simulator/failure/corruption_flow.h"

#include <algorithm>

#include "simulator/failure/detector.h"

namespace trainyard::simulator {
namespace {

// Detectors that are on, the fastest first: it gets the credit and sets the latency.
std::vector<Detector> used_detectors(const CorruptionModel& model, const std::vector<DetectorKind>& kinds) {
  std::vector<Detector> used;
  for (const Detector& detector : model.detectors) {
    if (std::find(kinds.begin(), kinds.end(), detector.kind) != kinds.end()) {
      used.push_back(detector);
    }
  }
  std::stable_sort(used.begin(), used.end(),
                   [](const Detector& a, const Detector& b) { return a.latency.value < b.latency.value; });
  return used;
}

struct Found {
  double share = 0.0;
  double latency = 0.0;  // times the share
};

Found found_by(const std::vector<Detector>& detectors, CorruptionCause cause, CorruptionSite site, bool visible,
               std::int64_t replicas) {
  Found found;
  double missed = 1.0;
  for (const Detector& detector : detectors) {
    const DetectorReach reach = detector_reach(detector.kind, cause, site, replicas);
    const double seen = missed * detector.coverage.value * (visible ? reach.visible : reach.silent);
    found.share += seen;
    found.latency += seen * detector.latency.value.si();
    missed -= seen;
  }
  return found;
}

void add(CorruptionRates& sum, const CorruptionRates& other) {
  sum.events += other.events;
  sum.masked += other.masked;
  sum.corrected += other.corrected;
  sum.crash += other.crash;
  sum.found += other.found;
  sum.undetected += other.undetected;
}

}  // namespace

CorruptionFlow corruption_flow(const CorruptionModel& model, const std::vector<DetectorKind>& detectors,
                               std::int64_t replicas) {
  CorruptionFlow flow;
  const std::vector<Detector> used = used_detectors(model, detectors);
  double latency = 0.0;
  for (const CorruptionCause cause : {CorruptionCause::kComputeError, CorruptionCause::kStoredBit}) {
    const bool computed = cause == CorruptionCause::kComputeError;
    CorruptionRates& rates = flow.by_cause[static_cast<std::size_t>(cause)];
    rates.events = (computed ? model.compute_errors : model.stored_bits).value.si();
    if (rates.events <= 0.0) {
      continue;
    }
    rates.corrected = computed ? rates.events * model.checksum_coverage.value : 0.0;
    double placed = 0.0;
    for (const SiteExposure& site : model.sites) {
      const double share = computed ? site.compute_share : site.memory_share;
      placed += share;
      const Consequence& what = computed ? site.compute_error : site.stored_bit;
      const double rate = (rates.events - rates.corrected) * share;
      const Found silent = found_by(used, cause, site.site, false, replicas);
      const Found visible = found_by(used, cause, site.site, true, replicas);
      rates.masked += rate * what.masked;
      rates.crash += model.not_finite_check ? rate * what.not_finite : 0.0;
      const double unseen = model.not_finite_check ? 0.0 : what.not_finite;
      rates.found += rate * (what.silent * silent.share + what.visible * visible.share);
      latency += rate * (what.silent * silent.latency + what.visible * visible.latency);
      rates.undetected += rate * (what.silent * (1.0 - silent.share) + what.visible * (1.0 - visible.share) + unseen);
    }
    rates.masked += (rates.events - rates.corrected) * std::max(0.0, 1.0 - placed);  // in memory that isn't used
    add(flow.total, rates);
  }
  flow.latency = flow.total.found > 0.0 ? latency / flow.total.found : 0.0;
  for (const Detector& detector : used) {
    flow.overhead += detector.overhead.value;
    flow.alarm_share += detector.false_alarms.value * detector.alarm_cost.value;
  }
  return flow;
}

}  // namespace trainyard::simulator
