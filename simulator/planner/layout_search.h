// Search of a LayoutSpace: the fastest layouts that fit, and those that no other beats in both speed and memory.
//
// Each layout's memory is priced, then its step, unless a bound (step_bound.h) shows that it can't be among the best
// nor on the Pareto front. Blocks are taken in the order of their bound in batches; a batch's findings decide what the
// next may skip. So the result, and every count in it, is the same for any number of threads, and without pruning
// (but for `pruned`).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "core/layout/layout.h"
#include "core/plan/infeasible.h"
#include "simulator/memory/memory_habits.h"
#include "simulator/planner/best_layouts.h"
#include "simulator/planner/layout_pricer.h"
#include "simulator/planner/layout_space.h"
#include "simulator/planner/ranked_layout.h"
#include "simulator/throughput/step_model.h"

namespace trainyard::simulator {

struct SearchRequest {
  LayoutSpace space;
  Machine machine;
  MemoryHabits habits;
  std::function<bool(const Layout&)> wanted;  // others aren't considered; unset: all are
  std::size_t keep = 20;
  std::size_t keep_misses = 0;  // of those that don't fit, so many that lack least
  bool prune = true;
  int threads = 2;
};

struct SearchProgress {
  std::int64_t blocks = 0;
  std::int64_t blocks_done = 0;
  std::int64_t considered = 0;
  const BestLayouts* best = nullptr;  // so far; there during the call only
};

// A layout that doesn't fit.
struct LayoutMiss {
  Layout layout;
  MemoryPrice memory;
  std::int64_t block = 0;  // place in the space
  std::int64_t variant = 0;
  std::int64_t ordinal = 0;
};

struct SearchResult {
  std::vector<RankedLayout> best;    // fastest first
  std::vector<RankedLayout> pareto;  // fastest first, each needing less memory than the one before
  std::int64_t considered = 0;       // memory priced
  std::int64_t feasible = 0;         // of them, that fit
  std::int64_t pruned = 0;           // of those, whose step wasn't priced
  std::int64_t too_large = 0;        // that don't fit
  std::vector<LayoutMiss> misses;    // what lacks least first
  std::optional<Infeasible> nearest_miss;
  Layout nearest_layout;
  std::vector<ImpossibleDegrees> impossible;
  ByteCount available;
  bool stopped = false;
};

SearchResult search_layouts(const SearchRequest& request, const PricerFactory& pricers,
                            const std::function<void(const SearchProgress&)>& progress = {},
                            const std::stop_token& stop = {});

}  // namespace trainyard::simulator
