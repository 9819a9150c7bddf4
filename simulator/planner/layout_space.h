// LayoutSpace: every layout worth considering for a network, a batch and a number of ranks, one at a time.
//
// Blocks share their degrees and micro-batch; a block's layouts differ in switches:
//
//   degrees    tp cp dp pp = ranks, each dividing what it cuts; etp ep | tp cp dp for experts
//   batch      micro-batches that divide a data-parallel rank's share of the batch
//   schedule   GPipe, 1F1B, interleaved with v that divide the layers (or the layers and both ends), 2 and 4;
//              ZB-H1 from p, ZB-H2, ZB-V and DualPipe from 2 p micro-batches on
//   memory     recompute none, selective, full (of every layer, every 2nd, every 4th); ZeRO 0 to 3, ZeRO 3 in the
//              node and replicated between nodes; offload of optimizer, activations, parameters (if asked)
//   the rest   sequence parallelism, ring, Ulysses or all-gather for cp; overlaps (if asked; else on where they exist)
//
// Switches that change nothing are left out. Work is linear in the layouts visited; nothing is stored but blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/layout/layout.h"
#include "simulator/throughput/step_model.h"

namespace trainyard::simulator {

struct SpaceLimits {
  int max_tensor = 64;
  int max_context = 64;
  std::int64_t max_micro_batch = 16;
  int max_chunks = 16;
  bool vary_overlap = false;
  bool offload = false;
  bool selective = false;  // attention that keeps its scores: without, selective recomputation changes nothing
};

struct LayoutSpace {
  Workload workload;
  std::int64_t ranks = 1;
  std::int64_t ranks_per_node = 8;
  Layout base;  // types, bucket size, rank order: what isn't searched
  SpaceLimits limits;
};

// Degrees, micro-batch and accumulation set, switches as in the space's base.
using LayoutBlock = Layout;

// Degrees that can't be, and why: "8 key-value heads can't be cut over 16 tensor-parallel ranks".
struct ImpossibleDegrees {
  Layout example;
  std::string detail;
  std::int64_t count = 0;
};

struct LayoutBlocks {
  std::vector<LayoutBlock> blocks;  // in a fixed order
  std::vector<ImpossibleDegrees> impossible;
};
LayoutBlocks layout_blocks(const LayoutSpace& space);

// A block's schedules and what they recompute: layouts of a variant differ in what hardly changes their compute.
struct LayoutVariant {
  ScheduleKind schedule = ScheduleKind::k1f1b;
  int chunks = 1;
  Recompute recompute = Recompute::kNone;
  int recompute_every = 1;
};
std::vector<LayoutVariant> block_variants(const LayoutSpace& space, const LayoutBlock& block);

// Calls visit(layout, ordinal within the variant) for each; the layout is only good during the call. Layouts that
// differ in overlaps alone follow each other.
void for_each_layout(const LayoutSpace& space, const LayoutBlock& block, const LayoutVariant& variant,
                     const std::function<void(const Layout&, std::int64_t)>& visit);

}  // namespace trainyard::simulator
