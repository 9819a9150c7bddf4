// Run record: what a run did, as JSON lines. The first line is a header, then one line per step, then
// evaluations and an end line; each line carries "record". A run that failed says so in its end line with
// rank, step and cause.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/provenance.h"
#include "core/program/program.h"
#include "core/units/quantity.h"

namespace trainyard {

constexpr int kRunRecordSchema = 1;

struct RunHeader {
  std::string plan_hash;
  std::string program_hash;
  std::string device;
  std::int64_t ranks = 1;
  std::int64_t threads_per_rank = 1;
  Provenance provenance;
};

struct StepRecord {
  std::int64_t step = 0;
  double loss = 0.0;           // mean over the step's tokens, nats
  double gradient_norm = 0.0;  // before clipping
  double learning_rate = 0.0;
  Seconds step_time;
  double tokens_per_second = 0.0;
  std::optional<double> mfu;  // against the profile's peak, causal attention
  ByteCount resident;         // largest over ranks
};

// Held-back text: mean loss in nats, and the entropy of its unigram distribution, which a model that has
// learned no context cannot beat.
struct EvaluationRecord {
  std::int64_t step = 0;
  double loss = 0.0;
  double unigram_entropy = 0.0;
  std::int64_t tokens = 0;
};

// Counted at the boundary: m, n, k at the matmul, bytes and messages at the posted send. Of one step.
struct RankCounts {
  Rank rank;
  Volumes volumes;
  ByteCount buffers_allocated;  // arena and persistent, as allocated
  ByteCount resident_peak;
};

struct RunFailure {
  std::optional<Rank> rank;
  std::optional<std::int64_t> step;
  std::string cause;
  std::vector<std::string> last_lines;
};

struct RunRecord {
  RunHeader header;
  std::vector<StepRecord> steps;
  std::vector<EvaluationRecord> evaluations;
  std::vector<RankCounts> counts;
  std::optional<RunFailure> failure;
  bool complete = false;  // an end line without failure was read
};

// One line each, with its newline. A loss or norm that isn't finite is written as null and read as NaN.
std::string to_json_line(const RunHeader& header);
std::string to_json_line(const StepRecord& step);
std::string to_json_line(const EvaluationRecord& evaluation);
std::string to_json_line(const RankCounts& counts);
std::string end_json_line(const std::optional<RunFailure>& failure);

// A last line without its newline was cut short when the run was killed and is left out; anything else
// malformed is an Error with file and line.
RunRecord read_run_record(const std::filesystem::path& file);

}  // namespace trainyard
