// What `reliability` found, as tables and as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/reliability_job.h"
#include "cli/reliability_options.h"
#include "cli/session.h"
#include "simulator/failure/failure_cost.h"
#include "simulator/failure/interval_search.h"
#include "simulator/failure/profile_resolution.h"
#include "simulator/failure/reliability.h"
#include "simulator/failure/reliability_advice.h"
#include "simulator/failure/reliability_study.h"
#include "simulator/failure/trace_replay.h"
#include "simulator/failure/trace_statistics.h"

namespace trainyard::cli {

// Of --replay.
struct Replayed {
  simulator::TraceStatistics fleet;
  simulator::ReplayResult job;
};

struct ReliabilityAnswer {
  const ReliabilityOptions& options;
  const ReliabilityJob& job;
  simulator::ResolvedJob resolved;
  bool interval_given = false;  // by a flag or the plan
  simulator::BestInterval best;
  simulator::Reliability reliability;
  simulator::GoodputRange range;  // 90 %
  std::vector<simulator::IntervalPoint> intervals;
  std::vector<simulator::ScaleAnswer> scales;
  std::vector<simulator::PolicyAnswer> policies;
  std::vector<simulator::DetectorAnswer> detectors;
  simulator::DetectorAnswer checksum_hardware;
  const simulator::DetectorAnswer* advised = nullptr;  // of detectors
  std::vector<simulator::FailureCost> costs;
  simulator::Timeouts timeouts;
  double goodput_advised = 0.0;  // with these timeouts, spares for 99 % of the time and those detectors
  std::vector<simulator::Sensitivity> sensitivities;
  std::optional<double> tokens;
  Seconds horizon;  // that expectations are for: to the tokens, or the duration
  std::optional<simulator::SimulationResult> simulated;
  std::optional<Replayed> replayed;
};

// What isn't in the model.
std::vector<std::string> reliability_limits();

void print_reliability(const Session& session, const ReliabilityAnswer& answer);
nlohmann::ordered_json to_json(const ReliabilityAnswer& answer);

}  // namespace trainyard::cli
