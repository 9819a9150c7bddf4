// PAT (parallel aggregated trees): all-gather and reduce-scatter in log2 n steps, for one rank a node.
//
//   steps   ceil(log2 n): in step k each rank sends to the rank 2^k further on what it has, at most what is still
//   missing bytes   step k: min(2^k, n - 2^k) S/n; all steps: S (n-1)/n
//
// Source: Bruck et al. 1997 (steps and bytes); NCCL 2.23 release notes (PAT).
#pragma once

#include "simulator/collective/algorithms/collective_flows.h"

namespace trainyard::simulator {

void add_pat(FlowWriter& writer, const GroupLayout& layout, double size);

}  // namespace trainyard::simulator
