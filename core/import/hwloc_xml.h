// hwloc's XML (`lstopo topo.xml`) -> one node.
//
//   Package               a CPU; packages are joined pairwise at the rate NCCL counts for vendor and model
//   Bridge, PCIDev        a bridge with two or more GPUs or NICs below it is a PCIe switch; chains of bridges collapse
//                         to one link of the least pci_link_speed (GB/s) in them
//   PCIDev                classes 0302, 0380, 1200 (and 0300 with a CUDA, NVML, RSMI or Level Zero device): a GPU;
//                         02xx: a NIC, by its OpenFabrics name if it has one; hwloc knows no NIC speeds
//   NVLinkBandwidth,      MB/s between GPUs, to NVSwitches and to CPUs
//   XGMIBandwidth
// Source: hwloc 2 and 3, hwloc.dtd and topology-xml.c.
#pragma once

#include <string>
#include <string_view>

#include "core/cluster/cluster.h"

namespace trainyard {

Cluster import_hwloc_xml(std::string_view text, const std::string& where);

}  // namespace trainyard
