// How far one simulated run has come, and which saves it could go back to.
//
// Work in seconds at full speed; segment i is the work from i x segment to (i + 1) x segment, a memory save after each,
// a storage save after every n-th instead. A save counts `write` seconds after its blocking part has ended. Running for
// a time takes a few operations however many saves it holds.
#pragma once

#include <cstdint>

#include "simulator/failure/checkpoint_cycle.h"

namespace trainyard::simulator {

// What was gained in a time of running, or lost in going back.
struct ProgressAmount {
  double work = 0.0;
  double blocking = 0.0;  // s
};

class TrainingProgress {
 public:
  // period.work: seconds of wall clock for a segment at full speed; segment: the work in it.
  TrainingProgress(const CheckpointPeriod& period, double segment);

  double work() const { return static_cast<double>(segment_) * segment_work_ + worked_; }

  // Runs for `wall` seconds at `speed` > 0 (1: full).
  ProgressAmount run(double wall, double speed);
  // Until `target` of work is done; with its save where a segment ends there.
  double time_until(double target, double speed) const;

  // Back to the newest save that counts.
  ProgressAmount back_to_memory();
  // `older`: so many storage saves before the newest that counts.
  ProgressAmount back_to_storage(std::int64_t older);
  // To the newest kept storage save that holds no more than `work`, else to the archive's.
  ProgressAmount back_before(double work, std::int64_t keep, double archive_interval);
  // Throws away what was done since `work`, in the segment under way alone.
  ProgressAmount cut_back(double work);

 private:
  double segment_wall(double speed) const { return period_.work / speed; }
  double blocking_after(std::int64_t segment) const;
  double blocking_between(std::int64_t from, std::int64_t to) const;
  void pass_segments(std::int64_t count, double memory_age, double storage_age);
  void age(double wall);
  std::int64_t counted_storage() const;
  ProgressAmount back_to(std::int64_t segment);

  CheckpointPeriod period_;
  double segment_work_;
  std::int64_t segment_ = 0;  // under way
  double worked_ = 0.0;       // of its work
  double blocked_ = 0.0;      // of the blocking time at its end

  // Newest snapshot, and the one before it, which counts by then. In segments; storage in periods.
  std::int64_t memory_ = 0;
  std::int64_t memory_before_ = 0;
  double memory_age_;
  std::int64_t storage_ = 0;
  std::int64_t storage_before_ = 0;
  double storage_age_;
  std::int64_t oldest_ = 0;  // storage save that is still kept
};

}  // namespace trainyard::simulator
