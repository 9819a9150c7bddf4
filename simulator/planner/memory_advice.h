// The cheapest change that makes a layout fit: of its neighbours that do, the fastest.
//
// Neighbours: recompute (scores, every 4th, every 2nd, every layer), half the micro-batch, a higher ZeRO stage,
// sequence parallelism, twice the tensor, context or pipeline degree at half the replicas, optimizer or activations in
// host memory; then any two of these at once.
#pragma once

#include <optional>
#include <string>

#include "simulator/memory/memory_model.h"
#include "simulator/planner/layout_pricer.h"
#include "simulator/planner/ranked_layout.h"

namespace trainyard::simulator {

struct FittingChange {
  std::string change;  // "full recomputation", "micro-batch 2 instead of 4 and ZeRO 1"
  RankedLayout result;
};

// Nothing where no neighbour fits.
std::optional<FittingChange> cheapest_fit(const MemoryModel& memory, LayoutPricer& pricer, const Workload& workload,
                                          const Layout& layout);

}  // namespace trainyard::simulator
