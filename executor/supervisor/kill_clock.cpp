#include "executor/supervisor/kill_clock.h"

#include <cmath>

#include "core/random/philox.h"

namespace trainyard::executor {

namespace {
constexpr std::uint64_t kTimes = 1;  // streams of random numbers
constexpr std::uint64_t kRanks = 2;
}  // namespace

KillClock::KillClock(Seconds mean, std::uint64_t seed, std::optional<std::int64_t> limit)
    : mean_(mean), seed_(seed), limit_(limit), next_(Clock::now()) {
  advance();
}

std::optional<KillClock::Clock::time_point> KillClock::next() const {
  return limit_ && taken_ >= *limit_ ? std::nullopt : std::optional(next_);
}

int KillClock::take(int ranks) {
  const double place = random_uniform(seed_, kRanks, static_cast<std::uint64_t>(taken_));
  ++taken_;
  advance();
  return static_cast<int>(place * ranks);
}

void KillClock::advance() {
  const double uniform = random_uniform(seed_, kTimes, static_cast<std::uint64_t>(taken_));
  next_ +=
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(-std::log1p(-uniform) * mean_.si()));
}

}  // namespace trainyard::executor
