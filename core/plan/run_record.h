// Run record: what a run did, as JSON lines. The first line is a header, then one line per step, then
// evaluations and an end line; each line carries "record". A run that failed says so in its end line with
// rank, step and cause.
//
// A run that lost a rank and went on has a "failure" and a "restart" line in between, one that was resumed a "restart"
// line behind its end line. A restart goes back to a checkpoint: what the lines before say of later steps, its steps
// redo. Readers get the steps that count, once each and in order.
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
  // From the end of the step before to the beginning of this one, on rank 0: waits for other ranks, a save's snapshot,
  // evaluation. Absent for the first step of a start.
  std::optional<Seconds> between_time;
  double tokens_per_second = 0.0;
  std::optional<double> mfu;  // against the profile's peak, causal attention
  ByteCount resident;         // largest over ranks
  // fp16: what the gradients were scaled by, and whether they overflowed, so that nothing was updated.
  std::optional<double> loss_scale;
  bool skipped = false;
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
  // Steps whose repeated part was enqueued as captured work; not counted before a restart. 0 in records of before it
  // was written.
  std::int64_t replayed_steps = 0;
};

struct RunFailure {
  std::optional<Rank> rank;
  std::optional<std::int64_t> step;
  std::string cause;
  std::vector<std::string> last_lines;
};

// A checkpoint's save: complete, or why not.
struct SaveRecord {
  std::int64_t step = 0;  // steps done
  std::string failure;    // empty: the checkpoint is complete
  Seconds
      blocking_time;  // during which no rank trains: of the snapshot, the largest over ranks; of all, if synchronous
  Seconds save_time;  // from the snapshot's end until the checkpoint is complete
  ByteCount bytes;    // of all ranks' files

  // Training waited until it was complete.
  bool synchronous() const { return blocking_time >= save_time; }
  Seconds snapshot_time() const { return synchronous() ? blocking_time - save_time : blocking_time; }
};

// A failure after which the run went on.
struct FailureRecord {
  std::int64_t generation = 0;  // of processes, from 0
  RunFailure failure;
  Seconds at;                             // wall clock since the launch; 0 in records of before it was written
  std::optional<Seconds> detection_time;  // since the rank stopped working, where that is known
};

struct RestartRecord {
  std::int64_t generation = 0;          // the one that begins
  std::int64_t step = 0;                // it goes on after so many steps
  Seconds load_time;                    // reading and checking the checkpoint
  std::optional<Seconds> restart_time;  // from the failure's detection to the first step's begin; unset for --resume
};

struct RunRecord {
  RunHeader header;
  std::vector<StepRecord> steps;  // those that count
  std::vector<EvaluationRecord> evaluations;
  std::vector<RankCounts> counts;
  std::vector<SaveRecord> saves;
  std::vector<FailureRecord> failures;
  std::vector<RestartRecord> restarts;
  std::int64_t lost_steps = 0;       // done, and done again after a restart
  Seconds lost_time;                 // of those steps
  std::optional<Seconds> wall_time;  // from the launch to the end line; unset where a launcher was killed
  std::optional<RunFailure> failure;
  bool complete = false;  // an end line without failure was read

  Seconds useful_time() const;  // of the steps that count, undisturbed (steps_beside_saves.h)
};

// One line each, with its newline. A loss or norm that isn't finite is written as null and read as NaN.
std::string to_json_line(const RunHeader& header);
std::string to_json_line(const StepRecord& step);
std::string to_json_line(const EvaluationRecord& evaluation);
std::string to_json_line(const RankCounts& counts);
std::string to_json_line(const SaveRecord& save);
std::string to_json_line(const FailureRecord& failure);
std::string to_json_line(const RestartRecord& restart);
std::string end_json_line(const std::optional<RunFailure>& failure, const std::optional<Seconds>& wall_time = {});

// Times of the steps that count after the first, which warms up, shortest first; of one step alone, that one's.
std::vector<Seconds> warm_steps(const RunRecord& record);

// A last line without its newline was cut short when the run was killed and is left out; anything else
// malformed is an Error with file and line.
RunRecord read_run_record(const std::filesystem::path& file);

}  // namespace trainyard
