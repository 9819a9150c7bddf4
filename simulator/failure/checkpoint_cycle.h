// Expected time from one storage save that counts to the next, with a memory level in between: exact for exponential
// failures.
//
//   period   n segments of work, a memory save (w1) after each, a storage save (w2) after the last instead
//   b2       background write of the storage save; a failure before its end goes back to the save before
//   lam      failures per second; each costs X of recovery; W of them go back to the last memory save, 1 - W to storage
//
// From the start of a segment of length s, with V the value there, V' at the next and V0 at the period's start:
//   V = (1 - e^(-lam s)) [1/lam + X + W V + (1 - W) V0] + e^(-lam s) V'
// solved backwards, linear in V0, equal segments in a row at once: O(1) however many. A period runs from b2 behind its
// start (where the save before begins to count) to b2 behind its end; after a storage rollback from the start. With n =
// 1, W = 0: checkpoint_efficiency.h. Compare Moody et al., SC10. Memory saves that are written for b1 (to a peer): a
// failure within b1 of a save goes back one segment more, first order.
#pragma once

#include <cstdint>

namespace trainyard::simulator {

// Seconds of wall clock.
struct CheckpointPeriod {
  double work = 0.0;  // of a segment, at the job's actual speed
  std::int64_t segments = 1;
  double memory_blocking = 0.0;
  double storage_blocking = 0.0;
  double memory_write = 0.0;
  double storage_write = 0.0;
  double undisturbed() const {
    const auto n = static_cast<double>(segments);
    return n * work + (n - 1.0) * memory_blocking + storage_blocking;
  }
};

struct RecoveryMean {
  double rate = 0.0;       // failures per second of running
  double time = 0.0;       // mean of a recovery, failures during it included
  double to_memory = 0.0;  // share of recoveries that end at the last memory save
};

// Infinite where failures leave no progress.
double expected_period(const CheckpointPeriod& period, const RecoveryMean& recovery);

}  // namespace trainyard::simulator
