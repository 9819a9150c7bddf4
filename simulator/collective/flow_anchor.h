// A user's own nccl-tests logs of a cluster, as anchors of its curves.
//
// A log's job is laid out on the cluster's first ranks, and the constants of the curve it measured are refitted with
// the shipped ones as prior (curve_fit.h). Other sizes, ranks and nodes of the same curve class move with them; the
// narrower interval is for the log's own nodes, ranks and operation.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "simulator/collective/collective_models.h"
#include "simulator/collective/flow_wire.h"
#include "simulator/collective/nccl_tests_log.h"

namespace trainyard::simulator {

// Throws Error (where: the log's name) for a log of more ranks or nodes than the cluster has.
CollectiveModels anchored_on(CollectiveFabric& fabric, const CollectiveModels& models,
                             std::span<const std::pair<std::string, NcclTestsLog>> logs, bool sharp);

// What names the log's own system in the fit: "8 nodes, 64 ranks, all_reduce".
std::string anchor_series(int nodes, int ranks, CollectiveOp op);

}  // namespace trainyard::simulator
