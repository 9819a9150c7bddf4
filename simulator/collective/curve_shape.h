// CurveShape: all of a collective's curve that facts decide, before any fitted constant.
//
// Which class's constants apply, how many hops at which level, and B, the bandwidth on the bus:
//   one node    ring       links of a GPU (two A100: x 0.88; cube mesh: rings x 22.5 GB/s; PCIe: the bus)
//               tree       the same
//               nvls       A 2(n-1)/(n+1), at most the cap        (all-reduce; others by ring)
//   N nodes     trees      min(NVLS or 0.8 of a node's links, NICs' sum x 1.8 for N = 2, x 1.2 for 3, x 2 with SHARP)
//               ring       min(one node's ring, NICs' sum)
//               direct     NICs' sum / ranks in the node;   PAT  0.75 of the NICs' sum
//   hops D      ring 2(n-1) all-reduce, n-1 others; nvls and direct 1; trees between nodes 2 log2 N, PAT log2 N
// A broadcast's and a reduction's ring has half the fill, and so has an all-reduce's for its 2(n-1) hops.
// Source: docs/cost_model.md; NVIDIA/nccl-tests#130 and #267 (all-to-all), NVIDIA/nccl#946 (two nodes).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "simulator/collective/collective_site.h"
#include "simulator/collective/link_facts.h"
#include "simulator/collective/nccl_names.h"

namespace trainyard::simulator {

struct CurveShape {
  struct Level {
    std::string curve_class;  // whose a, c, x0
    std::string family;
    double hops = 0.0;        // D
    double fill_share = 1.0;  // of c
  };
  std::vector<Level> levels;  // the first one's class also gives H and e
  double wire_factor = 1.0;   // F
  BytesPerSecond bandwidth;   // scaled by e
  BytesPerSecond cap;         // not scaled
  bool framework = false;     // H of a training loop
  // Channels forced to fewer than the links take: what they carry together, LL below 8 MiB, LL128 below 128 MiB,
  // Simple above. Empty: the links bind.
  std::optional<std::array<BytesPerSecond, kNcclProtocols>> channel_caps;

  const std::string& curve_class() const { return levels.front().curve_class; }
  const std::string& family() const { return levels.front().family; }
};

// The algorithms NCCL could use for the operation on the site.
std::vector<NcclAlgorithm> possible_algorithms(const CollectiveSite& site, CollectiveOp op, const LinkFacts& facts);

// What NCCL's default comes to at large sizes: NVLS or ring in a node, a tree or SHARP between nodes, direct for
// all-to-all.
NcclAlgorithm usual_algorithm(const CollectiveSite& site, CollectiveOp op, const LinkFacts& facts);

// A ring or tree held to this many channels; more than add up change nothing.
void limit_channels(CurveShape& shape, int channels, const LinkFacts& facts);

// Throws Error for a site that can't be priced: one rank, more nodes than ranks, several nodes without NICs.
CurveShape curve_shape(const CollectiveSite& site, CollectiveOp op, NcclAlgorithm algorithm, const LinkFacts& facts);

}  // namespace trainyard::simulator
