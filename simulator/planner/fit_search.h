// Whether any layout of a space fits at all: memory alone, no step is priced.
#pragma once

#include "simulator/planner/layout_search.h"

namespace trainyard::simulator {

struct Fit {
  bool fits = false;
  Layout layout;  // the first that fits, or the one that lacks least
  std::optional<Infeasible> lacks;
};

// Throws nothing but what the cost of memory throws; a space without layouts doesn't fit and lacks nothing.
Fit any_fit(const SearchRequest& request, const std::stop_token& stop = {});

}  // namespace trainyard::simulator
