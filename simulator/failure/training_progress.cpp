#include "simulator/failure/training_progress.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trainyard::simulator {
namespace {

constexpr double kLongAgo = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-9;  // of a segment: sums of times and their parts differ by so much

}  // namespace

TrainingProgress::TrainingProgress(const CheckpointPeriod& period, double segment)
    : period_(period), segment_work_(segment), memory_age_(kLongAgo), storage_age_(kLongAgo) {}

double TrainingProgress::blocking_after(std::int64_t segment) const {
  return (segment + 1) % period_.segments == 0 ? period_.storage_blocking : period_.memory_blocking;
}

// Of the saves at the ends of segments from .. to - 1.
double TrainingProgress::blocking_between(std::int64_t from, std::int64_t to) const {
  const std::int64_t storage = to / period_.segments - from / period_.segments;
  const std::int64_t memory = to - from - storage;
  return static_cast<double>(storage) * period_.storage_blocking +
         static_cast<double>(memory) * period_.memory_blocking;
}

void TrainingProgress::age(double wall) {
  memory_age_ += wall;
  storage_age_ += wall;
}

// `count` segments end, the last of them just now; the ages of the newest snapshots are given.
void TrainingProgress::pass_segments(std::int64_t count, double memory_age, double storage_age) {
  segment_ += count;
  worked_ = blocked_ = 0.0;
  const std::int64_t period = segment_ / period_.segments;
  memory_before_ = segment_ - 1;
  if (count == 1 && memory_age_ < period_.memory_write) {
    memory_before_ = std::min(memory_before_, memory_);
  }
  memory_ = segment_;
  memory_age_ = memory_age;
  if (period > storage_) {
    storage_before_ = period - 1;
    storage_ = period;
    storage_age_ = storage_age;
  }
}

ProgressAmount TrainingProgress::run(double wall, double speed) {
  const double start_work = work();
  const std::int64_t n = period_.segments;
  const double segment = segment_wall(speed);
  const double with_memory = segment + period_.memory_blocking;
  double left = wall;
  double blocking = 0.0;
  for (;;) {
    const double rest = (segment_work_ - worked_) / segment_work_ * segment;
    const double save = blocking_after(segment_) - blocked_;
    if (left < rest + save) {
      const double working = std::min(left, rest);
      worked_ += working / segment * segment_work_;
      blocked_ += left - working;
      blocking += left - working;
      age(left);
      break;
    }
    left -= rest + save;
    blocking += save;
    age(rest + save);
    pass_segments(1, 0.0, 0.0);
    // Then as many whole periods, and whole segments of this one, as fit.
    const double period = static_cast<double>(n) * segment + static_cast<double>(n - 1) * period_.memory_blocking +
                          period_.storage_blocking;
    if (segment_ % n == 0 && left >= period) {
      const double periods = std::floor(left / period);
      left = std::max(0.0, left - periods * period);
      blocking += periods * (period - static_cast<double>(n) * segment);
      pass_segments(static_cast<std::int64_t>(periods) * n, 0.0, 0.0);
    }
    const std::int64_t to_storage = n - 1 - segment_ % n;
    const auto segments = std::min(static_cast<double>(to_storage), std::floor(left / with_memory));
    if (segments >= 1.0) {
      left = std::max(0.0, left - segments * with_memory);
      blocking += segments * period_.memory_blocking;
      storage_age_ += segments * with_memory;
      pass_segments(static_cast<std::int64_t>(segments), 0.0, storage_age_);
    }
  }
  return {work() - start_work, blocking};
}

double TrainingProgress::time_until(double target, double speed) const {
  const double segment = segment_wall(speed);
  const double segments = target / segment_work_;
  auto end = static_cast<std::int64_t>(std::floor(segments + kRounding));
  const double part = std::max(0.0, segments - static_cast<double>(end));
  if (end <= segment_) {
    return std::max(0.0, (target - work()) / segment_work_ * segment);
  }
  const double blocking = blocking_between(segment_, end) - blocked_;
  const double whole = static_cast<double>(end - segment_) - worked_ / segment_work_;
  return (whole + (part > kRounding ? part : 0.0)) * segment + blocking;
}

std::int64_t TrainingProgress::counted_storage() const {
  return storage_age_ >= period_.storage_write ? storage_ : storage_before_;
}

ProgressAmount TrainingProgress::back_to(std::int64_t segment) {
  const double before = work();
  const double blocking = blocking_between(segment, segment_) + blocked_;
  segment_ = segment;
  worked_ = blocked_ = 0.0;
  memory_ = memory_before_ = segment;
  storage_ = storage_before_ = std::min(storage_, segment / period_.segments);
  memory_age_ = storage_age_ = kLongAgo;
  return {before - work(), blocking};
}

ProgressAmount TrainingProgress::back_to_memory() {
  const std::int64_t counted = counted_storage();
  const std::int64_t newest = storage_;
  const std::int64_t memory = memory_age_ >= period_.memory_write ? memory_ : memory_before_;
  const ProgressAmount lost = back_to(std::max(memory, counted * period_.segments));
  storage_before_ = counted;
  storage_ = counted;
  // A storage save under way is still in host memory: its write goes on, as far as it was when that segment began.
  if (newest > counted && segment_ >= newest * period_.segments) {
    storage_ = newest;
    storage_age_ = static_cast<double>(segment_ - newest * period_.segments) * (period_.work + period_.memory_blocking);
  }
  return lost;
}

ProgressAmount TrainingProgress::back_to_storage(std::int64_t older) {
  const std::int64_t save = std::max(oldest_, counted_storage() - older);
  return back_to(save * period_.segments);
}

ProgressAmount TrainingProgress::back_before(double work, std::int64_t keep, double archive_interval) {
  const std::int64_t newest = counted_storage();
  oldest_ = std::max(oldest_, newest - keep + 1);
  const double period = segment_work_ * static_cast<double>(period_.segments);
  const auto wanted = static_cast<std::int64_t>(std::floor(work / period));
  if (wanted >= oldest_) {
    return back_to(std::min(wanted, newest) * period_.segments);
  }
  // An infinite interval: the start alone is kept.
  const double archived =
      std::isfinite(archive_interval) ? std::floor(work / archive_interval) * archive_interval : 0.0;
  const auto save = static_cast<std::int64_t>(std::floor(archived / period));
  oldest_ = save;
  return back_to(save * period_.segments);
}

ProgressAmount TrainingProgress::cut_back(double work) {
  const double floor = static_cast<double>(segment_) * segment_work_;
  const double lost = std::clamp(this->work() - std::max(work, floor), 0.0, worked_);
  worked_ -= lost;
  return {lost, 0.0};
}

}  // namespace trainyard::simulator
