// The checkpoint interval that leaves most: closed form, and by search over the whole model.
//
// Closed form (optimal_interval.h) knows one level, blocking time and MTTF. The search varies the storage interval, and
// the memory interval with it where there is that level, over analyse(); golden section on the logarithm, the other
// held, in turns.
// Where the model sees no use for storage saves (every failure leaves its state in memory) it gives the shortest
// interval that costs at most 0.1 %: they are for what the model doesn't know.
#pragma once

#include <optional>
#include <vector>

#include "simulator/failure/job_model.h"

namespace trainyard::simulator {

struct BestInterval {
  Seconds storage;  // of work
  std::optional<Seconds> memory;
  double goodput = 0.0;
  Seconds closed_form;  // exact, of the storage level alone
  Seconds young;
  Seconds floor;  // of work: a save must have been written before the next
  // Storage intervals around the best one within which the goodput is at most 0.1 % (relative) lower.
  Seconds flat_from;
  Seconds flat_to;
};

BestInterval best_interval(const JobModel& job);

struct IntervalPoint {
  Seconds storage;
  double goodput = 0.0;
};

// Goodput against the storage interval, `points` of them in equal ratios.
std::vector<IntervalPoint> interval_sweep(const JobModel& job, Seconds from, Seconds to, int points);

}  // namespace trainyard::simulator
