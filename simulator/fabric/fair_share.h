// Fair share: the rate of every flow when all share the fabric max-min fairly, and when each ends.
//
// Rates are max-min fair when no flow's can rise without lowering one that has no more (per weight). Each flow then
// has a bottleneck: a full lane on which none has more than it; or its own cap. They are unique. Computed by
// progressive filling (progressive_filling.h) on equal flows once (sharing_problem.h); a coupled group is one
// commodity that crosses all lanes of its flows and moves at one rate.
//
// As flows end the others' rates rise. run_flows() solves again only what an end can reach: a flow that ends at level
// l leaves every level below l as it is, and above l only flows that a lane freed or filled by the change holds are
// solved again, until each has a bottleneck (flow_evolution.h). Flows of equal size that start together are solved
// once: the fastest end first.
//
// Where it doesn't hold: limits().
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/cluster/cluster.h"
#include "simulator/fabric/flow.h"
#include "simulator/fabric/lanes.h"

namespace trainyard::simulator {

struct FairShare {
  std::vector<BytesPerSecond> rate;              // by flow; infinite where it crosses no link and has no cap
  std::vector<std::optional<ArcId>> bottleneck;  // by flow; absent where its own cap holds it
  std::vector<BytesPerSecond> load;              // by arc, host memories included
};
FairShare max_min_rates(const Cluster& cluster, const FlowSet& flows);

struct FlowTimes {
  std::vector<Seconds> finish;                   // by flow, from a common start: latency of its path + time to drain
  std::vector<std::optional<ArcId>> bottleneck;  // by flow: what held it for longest
  Seconds last;                                  // the latest finish
  std::vector<Bytes> carried;                    // by arc, host memories included
  std::size_t solved = 0;                        // commodities after reduction, of all flows
};
FlowTimes run_flows(const Cluster& cluster, const FlowSet& flows);

// Of the flow that ends last, for those who ask nothing else of many flows.
struct LastFlow {
  Seconds finish;
  std::optional<ArcId> bottleneck;  // what held it for longest
};
// reduce: whether flows may be equal, so that looking for it pays; those that a hash has spread are not.
LastFlow last_to_end(const Lanes& lanes, const FlowSet& flows, bool reduce = true);

// What a fluid model leaves out, for reports.
std::vector<std::string> limits();

}  // namespace trainyard::simulator
