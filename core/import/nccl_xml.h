// NCCL's and RCCL's topology XML -> one node.
//
// What NCCL writes to NCCL_TOPO_DUMP_FILE and reads from NCCL_TOPO_FILE: cpu -> pci -> gpu | nic -> net, with nvlink,
// xgmi and c2c inside gpu. From each:
//   cpu      a CPU vertex by NUMA id; CPUs joined pairwise at the rate NCCL counts for vendor and model
//   pci      class 0604: a PCIe switch; 0300, 0302, 0380, 1200: a GPU; 02xx: a NIC; link_speed x link_width above it.
//            A file for a cloud machine may list devices by class alone
//   gpu      rank order is by `dev`, else by bus id
//   net      a NIC vertex each, with its speed in Mb/s (10 Gb/s where none is given, as NCCL counts). Ports of one
//            card share its PCIe link: they hang below a PCIe switch of their own
//   nvlink   count x the generation's rate, generation by `sm`; a target of class 0680 is an NVSwitch
// Not in the file, hence not in the cluster: anything beyond the NIC.
// Source: NVIDIA/nccl 2.30 src/graph/xml.cc and topo.cc; ROCm/rccl for xgmi.
#pragma once

#include <string>
#include <string_view>

#include "core/cluster/cluster.h"

namespace trainyard {

Cluster import_nccl_xml(std::string_view text, const std::string& where);

}  // namespace trainyard
