// Comparison: a predicted trace against measured ones of the same program, term by term.
//
// A rank's step is split into terms that don't overlap, so that their errors add up to the step's:
//   compute        slices of the compute stream, by (segment, pass) or by kind
//   communication  data moving while compute idles, by (collective, group): from the last member's begin to
//                  this rank's end, less what compute covers
//   waiting        the rest: bubble, peers that come late, hand-over between streams
// Each is the mean over ranks and steps. A predicted trace holds one rank per role; its ranks share it.
//
//   own error of a term = predicted - measured            compute
//                         of the data movement, times the part of it that the measured run exposed
//                                                         communication
//   share = |own error| / sum of them over all terms
//
// Waiting has no own error, and neither has a communication that compute covers more or less of than before:
// both follow from the others. The largest share names where the cost model is off.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/plan/run_record.h"
#include "core/plan/trace.h"
#include "core/program/program.h"

namespace trainyard {

struct ComparedTime {
  std::string name;  // "mlp backward_weight", "all_reduce tensor", "optimizer"
  Seconds predicted;
  Seconds measured;
  Seconds own_error;  // of terms
  double share = 0.0;
  Seconds error() const { return predicted - measured; }
};

struct ComparedCount {
  std::string name;
  std::int64_t predicted = 0;
  std::optional<std::int64_t> measured;
};

struct StepComparison {
  Seconds predicted_step;
  Seconds measured_step;  // median over steps
  Seconds measured_low;   // shortest and longest
  Seconds measured_high;
  std::vector<ComparedTime> terms;     // by share, largest first; waiting last
  std::vector<ComparedTime> kinds;     // by InstructionKind: slices as they stand, waiting for peers included
  std::vector<ComparedTime> movement;  // communications: all data movement, hidden or not
  // The first term, unless all own errors are zero.
  std::optional<std::size_t> largest;
};

// Throws Error for traces of another program, or a measured one that lacks a rank or an instruction.
StepComparison compare_steps(const Program& program, const Trace& predicted, std::span<const Trace> measured);

// One rank's memory and traffic: what the program plans against what its process counted.
struct RankComparison {
  Rank rank;
  std::vector<ComparedCount> memory;    // bytes: by cause (planned only), buffers, resident
  std::vector<ComparedCount> sent;      // bytes by collective kind
  std::vector<ComparedCount> messages;  // by collective kind
  ComparedCount flops;
};

// runtime: what the profile says a process needs without buffers.
std::vector<RankComparison> compare_counts(const Program& program, ByteCount runtime,
                                           std::span<const RankCounts> measured);

}  // namespace trainyard
