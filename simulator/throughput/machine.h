// Machine: what a step's time and memory depend on besides the model and the layout.
//
//   accelerator   peaks, memory, links: facts of the silicon        models/accelerators
//   fabric        ranks, ranks a node, NICs                         models/clusters, or a cluster's graph
//   stack         what software makes of them: kernels' efficiency, fusion, habits of overlap   models/stacks
#pragma once

#include "core/plan/accelerator.h"
#include "core/plan/stack_profile.h"

namespace trainyard::simulator {

struct Machine {
  Accelerator accelerator;
  Fabric fabric;
  StackProfile stack;
};

}  // namespace trainyard::simulator
