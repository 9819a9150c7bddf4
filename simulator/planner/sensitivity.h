// Sensitivity: what another machine would change: the best layout's speed on it, and whether another layout is best.
//
// One number of the machine changes at a time: peak, memory, its bandwidth, links in the node, NICs; or the buckets
// that gradients are reduced in. Each gets a search of its own.
#pragma once

#include <string>
#include <vector>

#include "simulator/planner/layout_search.h"
#include "simulator/planner/search_machine.h"

namespace trainyard::simulator {

struct MachineChange {
  std::string what;  // "NIC bandwidth doubled"
  Machine machine;
  double bucket_factor = 1.0;  // on Layout::bucket_bytes
};

// The usual questions: NIC and NVLink bandwidth, memory bandwidth, peak and gradient buckets doubled and halved, memory
// of 141, 192 and 288 GB where that is more.
std::vector<MachineChange> usual_changes(const Machine& machine);

struct MachineSensitivity {
  std::string what;
  bool feasible = false;     // some layout fits
  RankedLayout best;         // on the changed machine
  double speedup = 1.0;      // best against best
  double same_layout = 1.0;  // of today's best layout on it
  bool changes_layout = false;
};

std::vector<MachineSensitivity> sensitivities(const SearchRequest& request, const RankedLayout& today,
                                              const std::vector<MachineChange>& changes, const MachinePricers& pricers,
                                              const std::stop_token& stop = {});

}  // namespace trainyard::simulator
