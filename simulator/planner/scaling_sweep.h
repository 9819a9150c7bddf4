// Scaling sweep: the best layout and its speed by number of ranks.
//
//   weak scaling    the batch grows with the ranks        efficiency = (tokens/s per rank) / (the smallest's)
//   strong scaling  the batch stays
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/planner/layout_search.h"
#include "simulator/planner/search_machine.h"

namespace trainyard::simulator {

enum class Scaling : std::uint8_t { kWeak, kStrong };

struct SweepPoint {
  std::int64_t ranks = 0;
  std::int64_t global_batch = 0;
  bool feasible = false;
  RankedLayout best;
  double tokens_per_second = 0.0;
  double efficiency = 0.0;  // against the smallest feasible point
  std::optional<Infeasible> nearest_miss;
};

// request.space.ranks and its batch are the reference of weak scaling: batch = its batch x ranks / its ranks, rounded
// down to at least 1.
std::vector<SweepPoint> scaling_sweep(const SearchRequest& request, const std::vector<std::int64_t>& ranks,
                                      Scaling scaling, const MachinePricers& pricers, const std::stop_token& stop = {});

}  // namespace trainyard::simulator
