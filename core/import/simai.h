// SimAI's and HPCC's ns-3 topologies (text) -> a cluster.
//
//   SimAI: nodes GPUs/host NVSwitches switches links GPU-type      HPCC: nodes switches links
//   the ids of NVSwitches, then of switches
//   source destination rate delay error-rate                        "0 72 200Gbps 0.0005ms 0"
//
// Ids below the switches are GPUs (SimAI) or hosts (HPCC). A GPU's links to switches go through a NIC of its own, so
// that routes find it; between GPU and NIC there is room for all of them and no delay. Error rates are left out.
// Source: aliyun/SimAI, astra-sim-alibabacloud/inputs/topo; alibaba-edu/High-Precision-Congestion-Control.
#pragma once

#include <string>
#include <string_view>

#include "core/cluster/cluster.h"

namespace trainyard {

Cluster import_simai(std::string_view text, const std::string& where);

}  // namespace trainyard
