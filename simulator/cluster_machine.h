// What a cluster's graph says of the machine that a step model asks for: its GPU and, in few numbers, its fabric.
//
//   ranks per node   GPUs that memory-speed links join: 8 in a DGX, 72 in a GB200 NVL72
//   NIC bandwidth    a host's back-end NICs together, over its GPUs, one way
#pragma once

#include <string>

#include "core/cluster/cluster.h"
#include "core/plan/accelerator.h"
#include "core/plan/stack_profile.h"

namespace trainyard::simulator {

// The accelerator file's name for the cluster's GPUs, "h100-sxm"; Error where none is known or there are no GPUs.
std::string accelerator_name(const Cluster& cluster);

// Latencies of the graph aren't in it: groups are priced on the graph itself (flow_group_cost.h).
// accelerator: of this name; empty: by the GPUs' own.
Fabric fabric_of(const Cluster& cluster, const std::string& accelerator = {});

// The shipped profile of software with fused kernels on this generation of accelerators; of any where none is known.
StackProfile usual_stack(const Accelerator& accelerator);

}  // namespace trainyard::simulator
