// KillClock: when a test of recovery kills which rank: at exponential times with a given mean, seeded, one clock for
// all generations of a run.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "core/units/quantity.h"

namespace trainyard::executor {

class KillClock {
 public:
  using Clock = std::chrono::steady_clock;

  // Starts now. `limit`: no more kills than that.
  KillClock(Seconds mean, std::uint64_t seed, std::optional<std::int64_t> limit);

  std::optional<Clock::time_point> next() const;  // unset: there are no more
  // The rank, of so many, that the kill that is due hits; moves on to the one after.
  int take(int ranks);
  std::int64_t taken() const { return taken_; }

 private:
  void advance();

  Seconds mean_;
  std::uint64_t seed_;
  std::optional<std::int64_t> limit_;
  std::int64_t taken_ = 0;
  Clock::time_point next_;
};

}  // namespace trainyard::executor
