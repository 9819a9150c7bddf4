// ReliabilityStudy: what a job's charts show: its goodput and what wastes the rest, goodput against the interval
// between saves, the same layout at other scales, and simulated runs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "simulator/failure/interval_search.h"
#include "simulator/failure/job_case.h"
#include "simulator/failure/reliability.h"

namespace trainyard::simulator {

// At its own best interval; nothing beside the MTTF where the ranks can't be had with more or fewer replicas.
struct ScaleAnswer {
  std::int64_t ranks = 0;
  Seconds mttf;
  Seconds low;  // how far fleets lie apart; both the mean where it was said by hand
  Seconds high;
  std::optional<Seconds> interval;
  std::optional<double> goodput;
};

// Goodput from a sixteenth to sixteen times an interval, at least a step.
std::vector<IntervalPoint> intervals_around(const JobModel& job, Seconds interval);

// The numbers of ranks that people ask about, and the job's own; on CPUs none.
std::vector<std::int64_t> usual_scales(const JobCase& of);

// One scale. own, mttf: the job at its own ranks, whose mean time goes with 1/ranks where the layout can't be had
// there.
ScaleAnswer at_scale(const JobCase& of, std::int64_t ranks, const JobModel& own, Seconds mttf);

struct StudyRequest {
  std::int64_t runs = 200;  // of the Monte Carlo; 0: none
  std::uint64_t seed = 1;
  int threads = 0;                                      // 0: as many as the machine has
  Seconds duration = from_si<Seconds>(30.0 * 86400.0);  // of a run without `tokens`
  std::optional<double> tokens;                         // runs end when trained on so many
};

struct ReliabilityStudy {
  ResolvedJob resolved;
  bool interval_given = false;  // by the plan: then not the best one
  BestInterval best;
  Reliability reliability;
  GoodputRange range;  // 90 %
  std::vector<IntervalPoint> intervals;
  std::vector<ScaleAnswer> scales;
  std::optional<SimulationResult> simulated;
  std::vector<TimelineSlice> month;  // of one simulated run, whose end isn't near; empty without runs
};

// progress: a line of text, from the calling thread. Stopped: what there is until then, without `simulated`.
ReliabilityStudy study_reliability(const JobCase& of, const StudyRequest& request,
                                   const std::function<void(const std::string&)>& progress = {},
                                   const std::stop_token& stop = {});

}  // namespace trainyard::simulator
