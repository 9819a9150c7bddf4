// The communication groups of a layout as shapes on nodes: who sits beside whom.
//
//   per node    members of a group on one node: min(count, ranks a node / stride), at least 1
//   concurrent  groups of the axis on one node: ranks a node / members
// Strides follow from the rank order (mesh.h).
#pragma once

#include "core/layout/layout.h"
#include "core/plan/accelerator.h"
#include "simulator/collective/group_cost.h"

namespace trainyard::simulator {

struct LayoutGroups {
  GroupShape tensor;
  GroupShape context;
  GroupShape data;     // dp and cp: who reduces a dense gradient
  GroupShape shard;    // who shares optimizer state or parameters; data unless shard_group
  GroupShape replica;  // copies of a shard; size 1 unless shard_group
  GroupShape expert;
  GroupShape expert_data;  // who reduces an expert's gradient
  GroupShape pipeline;     // a stage and the next
};

LayoutGroups layout_groups(const Layout& layout, const Fabric& fabric);

}  // namespace trainyard::simulator
