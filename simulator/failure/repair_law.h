// How long a node that left the job is away: log-normal, truncated.
//
//   ln t ~ Normal(ln median, sigma), cut at `longest`   mean = E[min(t, longest)]
//
// Source: InfiniteHBD-Trace, 584 repairs: median 20.4 h, mean 132.8 h; mu = 2.71 (ln h), sigma = 2.52.
#pragma once

#include <optional>

#include "core/units/quantity.h"

namespace trainyard::simulator {

struct RepairLaw {
  std::optional<Seconds> median;  // nothing: never comes back
  double sigma = 0.0;             // 0: always the median
  std::optional<Seconds> longest;
};

// Nothing where it never comes back.
std::optional<Seconds> mean_repair(const RepairLaw& law);

// The repair that a uniform number in (0, 1) stands for (its quantile).
std::optional<Seconds> repair_quantile(const RepairLaw& law, double uniform);

}  // namespace trainyard::simulator
