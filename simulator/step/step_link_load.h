// Link loads of a whole step: every communication of a program on the cluster's links.
//
//   loads = sum over communications of (times in a step) * loads of its groups at its size        link_load.h
//
// Rank r runs on the cluster's r-th GPU. Communications of one group that differ only in size are one set of flows: a
// load is proportional to the size for each algorithm, which is NCCL's choice at the size. What a stage sends to the
// next is half of an exchange between the two: the other half comes back as gradients of the same size.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/program/program.h"
#include "simulator/collective/collective_models.h"
#include "simulator/collective/flow_group_cost.h"
#include "simulator/collective/link_load.h"

namespace trainyard::simulator {

// The loads of the groups of a kind: tensor, data, pipeline, ...
struct GroupLinkLoads {
  GroupKind kind = GroupKind::kTensor;
  ByteCount payload;  // of all ranks' communications in a step together
  LinkLoads loads;
};

// By kind of group; those without traffic are left out. `progress` gets the share done, and stops the work (which then
// answers with what it has) by returning false. Throws Error for more ranks than GPUs, or ranks that don't reach each
// other. Cost: flows of every group once for each operation and algorithm.
std::vector<GroupLinkLoads> step_link_loads(const Program& program, CollectiveFabric& fabric,
                                            const CollectiveModels& models, const FlowGroupOptions& options,
                                            const std::function<bool(double)>& progress = {});

}  // namespace trainyard::simulator
