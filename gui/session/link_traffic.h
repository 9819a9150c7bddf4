// LinkTraffic: what a collective, or the whole step of a plan, puts on the links of the plan's cluster; and how long
// the same takes once a switch, NIC or link is out of service.
//
// The step: every communication of the simulated program (simulator/step/step_link_load.h), over its step time. A
// collective: all groups of the plan along an axis at once, by NCCL's choice of algorithm at the size, over its own
// time. No Qt here: jobs run it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/layout/mesh.h"
#include "core/program/program.h"
#include "gui/session/analysis.h"
#include "gui/session/problem.h"
#include "simulator/collective/nccl_names.h"

namespace trainyard::gui {

struct TrafficQuestion {
  std::shared_ptr<const Problem> problem;            // with a cluster
  std::shared_ptr<const PlanSimulation> simulation;  // null: no plan; then a collective of all GPUs
  std::optional<simulator::CollectiveOp> op;         // nothing: the whole step
  std::optional<GroupKind> part;                     // of the step: only groups of this kind
  std::optional<Axis> axis;                          // of the collective: groups along it; nothing: all ranks
  ByteCount size;                                    // of the collective
};

struct LinkTraffic {
  std::vector<float> busy;         // by link, its busier direction
  std::vector<ByteCount> forward;  // by link, from -> to
  std::vector<ByteCount> reverse;
  Seconds time;
  std::vector<GroupKind> parts;  // of a step: kinds of groups that have traffic
  std::string text;              // "all-reduce of 1 GiB in 32 groups: 12 ms, 87 GB/s on the bus, by ring"
  std::vector<std::string> notes;
};

// False: the work ends early, with what there is.
using TrafficProgress = std::function<bool(double)>;

// Throws Error for ranks that don't reach each other, or a layout that the cluster can't hold.
LinkTraffic link_traffic(const TrafficQuestion& question, const TrafficProgress& progress);

struct FailureEffect {
  std::string change;  // "switch:pod0/leaf3=down"
  Seconds before;
  Seconds after;
  std::string cut;  // who is cut off; then no time after
};

// The question again with the change made (simulator/fabric/what_if.h). Throws Error for a change that can't be.
FailureEffect effect_of(const TrafficQuestion& question, const std::string& change);

}  // namespace trainyard::gui
