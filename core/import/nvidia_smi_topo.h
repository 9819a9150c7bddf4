// `nvidia-smi topo -m` -> one node.
//
// The matrix names a relation between each two devices; from them:
//   NV#               # NVLinks between two GPUs. Where every GPU has as many to every other and they exceed the 18
//                     a GPU can have, they pass NVSwitches: one NVSwitch vertex, # links to each GPU
//   PIX               below one PCIe switch;  PXB: below a switch of switches
//   PHB, NODE         below one CPU;  SYS: below different CPUs (also by the NUMA Affinity column)
//   NIC Legend        names of NICs
// The matrix gives no rates: NVLink counts 25 GB/s a link (50 where lines of `nvidia-smi -L` in the same text say
// B200, B300 or GB200), PCIe the generation that goes with the GPU, NICs none. All of it is said in the notes.
#pragma once

#include <string>
#include <string_view>

#include "core/cluster/cluster.h"

namespace trainyard {

Cluster import_nvidia_smi_topo(std::string_view text, const std::string& where);

}  // namespace trainyard
