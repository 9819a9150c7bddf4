// A description of hardware, as benchmarks print it, turned into the facts of a CollectiveSite.
//
//   "8x A100-SXM4-40GB (NVSwitch)"   "p4de.24xlarge A100-80, 4x100G EFA v1"   "OCI BM.GPU.H100.8, RoCE"
//   "GB200 NVL72 x20 racks + IB"     "8x GPU PCIe Gen5"                         "2x p5.48xlarge"
//
// Looked for, in any order: an accelerator, an instance type (whose GPUs, NICs and fabric are published), NICs as
// COUNTxRATE in Gbit/s, a fabric's name, NVLnn, PCIe. What the text doesn't say is taken from the accelerator's usual
// server, and said in `assumed`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/collective/collective_site.h"

namespace trainyard::simulator {

struct DescribedSite {
  CollectiveSite site;
  std::vector<std::string> assumed;  // "nics", "ranks", "nodes", "fabric"
};

// nodes and ranks as the row gives them. Nothing where no accelerator, PCIe or NIC is recognised.
std::optional<DescribedSite> describe_site(std::string_view text, std::optional<int> nodes, std::optional<int> ranks);

}  // namespace trainyard::simulator
