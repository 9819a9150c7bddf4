// Predicted against measured training throughput, row by row, and what comes of it.
//
//   error     predicted / measured - 1, of tokens/s per GPU
//   families  model name; dense and moe; by scale of GPUs
//   grids     rows of one source, model, machine, GPUs and batch in different layouts: Spearman, Kendall's tau, and
//             regret: how much slower the layout predicted fastest ran than the fastest one
//   baselines a constant MFU per GPU and precision; the smallest scale of the same model and source for all others
// Leave one source out: each row predicted by constants refitted without its source; then with one factor on the whole
// source (its median), and its stack anchored (stack_anchor.h) on each one of its runs in turn.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "simulator/throughput/stack_library.h"
#include "simulator/throughput/step_loss.h"
#include "simulator/throughput/throughput_fit.h"

namespace trainyard::simulator {

struct ThroughputRow {
  std::string id;
  std::string reason;  // why it isn't scored; empty when it is
  std::string source;
  double predicted = 0.0;  // tokens/s per GPU
  double measured = 0.0;
  double error = 0.0;
  double low = 0.0;
  double high = 0.0;
  std::vector<std::string> flags;
  bool excluded = false;
  Layout layout;
  std::string stack;
  StackEvidence evidence = StackEvidence::kBorrowed;
  StepLosses losses{};
  bool moe = false;
  std::string family;
  std::int64_t gpus = 0;
  std::string grid;
  std::optional<double> left_out_error;
  std::optional<double> scaled_error;     // left out, one factor for the source
  std::optional<double> anchored_error;   // left out, anchored on a run: mean of |error| over the choice of run
  std::optional<double> as_anchor_error;  // left out, the mean |error| of its stack's others once anchored on this run
};

struct ErrorStatistics {
  int rows = 0;
  double mean = 0.0;  // of |error|
  double max = 0.0;
  double bias = 0.0;
  double p90 = 0.0;
  double inside = 0.0;  // share inside the 80 % interval
};

struct GridStatistics {
  std::string name;
  int rows = 0;
  double spearman = 0.0;
  double kendall = 0.0;
  double regret = 0.0;
};

struct LeftOutStatistics {
  ErrorStatistics rows;    // over rows
  double by_source = 0.0;  // mean over sources of their mean error
  double scaled = 0.0;     // the same after one factor a source
  double anchored = 0.0;   // the same after anchoring on one run: whichever
  double typical = 0.0;    // ... the median run: half of the runs to anchor on do better
  std::map<std::string, ErrorStatistics> sources;
};

struct ThroughputSummary {
  int rows = 0;
  int scored = 0;
  int excluded = 0;
  std::map<std::string, ErrorStatistics> kinds;  // "dense", "moe"
  std::map<std::string, double> by_source;       // "dense", "moe": mean over sources of their mean error
  std::map<std::string, ErrorStatistics> families;
  std::map<std::string, ErrorStatistics> sources;
  std::map<std::string, ErrorStatistics> scales;
  std::vector<GridStatistics> grids;
  std::map<std::string, ErrorStatistics> baselines;   // "constant_mfu", "smallest_scale"
  std::map<std::string, LeftOutStatistics> left_out;  // "dense", "moe"
};

struct ThroughputValidation {
  std::vector<ThroughputRow> rows;
  ThroughputSummary summary;
};

struct ThroughputOptions {
  bool leave_one_out = false;
  std::vector<std::string> anchors;  // ids of rows
};

// Throws Error for an anchor that no row with a measurement has.
ThroughputValidation validate_throughput(const std::vector<ThroughputCase>& cases, const StackLibrary& library,
                                         const ThroughputOptions& options);

// fit_stacks() with bands from leaving groups and sources out; profiles named, dated and with their provenance.
StackLibrary fit_with_bands(const std::vector<ThroughputCase>& cases);

}  // namespace trainyard::simulator
