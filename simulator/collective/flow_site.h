// The facts of a CollectiveSite, read off a cluster and the way a group lies in it.
//
//   generation   by the GPUs' type: "H100-SXM5" is Hopper
//   links        an NVSwitch beside the GPUs, xGMI or NVLinks between them, else PCIe
//   NICs         rails that the group goes out by, of the rate that most of its NICs have
//   fabric       EFA, TCPX by the NICs' type; else InfiniBand for credit flow control and RoCE for the others
//
// Measured curves are looked up by these. What differs from node to node, and the fabric behind the NICs, is left to
// the flows (flow_price.h).
#pragma once

#include "core/cluster/cluster.h"
#include "core/cluster/graph.h"
#include "simulator/collective/algorithms/group_layout.h"
#include "simulator/collective/collective_site.h"

namespace trainyard::simulator {

CollectiveSite site_of(const Cluster& cluster, const ClusterGraph& graph, const Domains& domains,
                       const GroupLayout& layout, bool sharp, Network network = Network::kBackend);

// By name; kOther where the name says nothing.
GpuGeneration generation_of(std::string_view gpu_type);

// A NIC's cables on a network together, one way.
BytesPerSecond nic_rate(const Cluster& cluster, const ClusterGraph& graph, VertexId nic, Network network);

}  // namespace trainyard::simulator
