// Sensitivity: what another machine would change: the best layout's speed on it, and whether another layout is best.
//
// One number of the machine changes at a time: peak, memory, its bandwidth, links in the node, NICs, latency. Each
// gets a search of its own.
#pragma once

#include <string>
#include <vector>

#include "simulator/planner/layout_search.h"
#include "simulator/planner/search_machine.h"

namespace trainyard::simulator {

struct MachineChange {
  std::string what;  // "NIC bandwidth doubled"
  Machine machine;
};

// The usual questions: NIC and NVLink bandwidth doubled and halved, memory bandwidth and peak doubled, memory of 141
// and 192 GB, NIC latency halved.
std::vector<MachineChange> usual_changes(const Machine& machine);

struct Sensitivity {
  std::string what;
  bool feasible = false;     // some layout fits
  RankedLayout best;         // on the changed machine
  double speedup = 1.0;      // best against best
  double same_layout = 1.0;  // of today's best layout on it
  bool changes_layout = false;
};

std::vector<Sensitivity> sensitivities(const SearchRequest& request, const RankedLayout& today,
                                       const std::vector<MachineChange>& changes, const MachinePricers& pricers,
                                       const std::stop_token& stop = {});

}  // namespace trainyard::simulator
