// Reliability of one job: how often it stops, and how much useful training is left.
//
//   goodput = time that the steps in the final model take undisturbed / wall clock from the job's start to its end
//
// The wall clock includes detection, restarts, waiting for nodes, planned stops, saves, and steps done again. (Kokolis'
// ETTR leaves out nothing but queueing before the start; Llama 3's "effective training time" is this. Published values
// differ in whether planned stops count: convert before comparing.)
//
// Two ways, of the same model: analyse(), closed forms for exponential arrivals (goodput.h), in microseconds; and
// simulate_job(), Monte Carlo, for distributions and for what has no closed form: bursts, bad nodes, refaults, spares
// that run out, late discovery.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/units/quantity.h"
#include "simulator/failure/corruption_flow.h"
#include "simulator/failure/job_model.h"
#include "simulator/failure/time_use.h"

namespace trainyard::simulator {

constexpr const char* kGoodputDefinition =
    "goodput: time that the steps in the final model take undisturbed, over wall clock from start to end "
    "(detection, restarts, waiting, planned stops, saves and repeated steps included)";

struct HazardShare {
  std::string name;
  double per_day = 0.0;
  double time_share = 0.0;  // of the wall clock, by detection, restart and lost work after it
};

struct Reliability {
  Seconds mttf;                // between unplanned interruptions, while running
  double stops_per_day = 0.0;  // unplanned and planned
  double goodput = 0.0;
  TimeUses shares;
  double tokens_per_day = 0.0;
  std::vector<HazardShare> hazards;
  CorruptionFlow corruption;
  std::optional<double> nodes_down;  // mean of nodes in repair; nothing: they never come back
  std::optional<std::int64_t> nodes_down_p99;
  std::vector<std::string> notes;          // where a formula is used outside its range
  std::optional<std::string> no_progress;  // reason why nothing finishes; goodput is then 0 or near it
};

Reliability analyse(const JobModel& job);

// The goodput's range from the published ranges of the inputs: each drawn from its law (ranged.h), all together,
// `draws` times, from a fixed seed. The low and high are percentiles (1 -+ level) / 2.
struct GoodputRange {
  double low = 0.0;
  double median = 0.0;
  double high = 0.0;
};
GoodputRange goodput_range(const JobModel& job, double level = 0.9, int draws = 400);

// What each input's own range does to the goodput, the others at their values; the largest first.
struct Sensitivity {
  std::string input;
  double low = 0.0;  // the input
  double high = 0.0;
  double goodput_at_low = 0.0;
  double goodput_at_high = 0.0;
};
std::vector<Sensitivity> sensitivities(const JobModel& job);

struct Percentiles {
  double p5 = 0.0;
  double p10 = 0.0;
  double p50 = 0.0;
  double p90 = 0.0;
  double p95 = 0.0;
  double mean = 0.0;
  double standard_error = 0.0;  // of the mean
};

// A stretch of one run, for plotting.
struct TimelineSlice {
  Seconds begin;
  Seconds end;
  TimeUse use = TimeUse::kUseful;
  std::string cause;  // the hazard's name, or empty
  double work = 0.0;  // seconds of work in the state at the end
};

struct SimulationRequest {
  std::int64_t runs = 1000;
  std::uint64_t seed = 1;
  int threads = 0;                  // 0: as many as the machine has
  std::optional<double> tokens;     // run until trained on so many; else
  std::optional<Seconds> duration;  // run for so long; default 54 days
  bool vary_inputs = false;         // each run draws the ranged inputs anew: its percentiles hold both spreads
  Seconds timeline = from_si<Seconds>(30.0 * 86400.0);   // so much of run 0
  std::function<void(std::int64_t done)> progress = {};  // called from the calling thread
  std::stop_token stop = {};
};

struct SimulationResult {
  std::int64_t runs = 0;              // done
  std::int64_t unfinished = 0;        // gave up
  std::optional<std::string> reason;  // why
  bool stopped = false;
  Percentiles goodput;
  std::optional<Percentiles> days;  // to the tokens
  TimeUses shares;                  // means
  Percentiles failures;             // a run
  Percentiles node_losses;
  Percentiles corruptions_found;
  Percentiles corruptions_missed;  // that are in the final model
  Percentiles nodes_down_peak;
  std::vector<TimelineSlice> timeline;
};

SimulationResult simulate_job(const JobModel& job, const SimulationRequest& request);

}  // namespace trainyard::simulator
