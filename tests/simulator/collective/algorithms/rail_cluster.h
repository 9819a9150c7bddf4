// A small cluster for the tests: nodes of GPUs on one NVSwitch, a NIC beside each GPU, a leaf a rail, one spine.
#pragma once

#include <string>
#include <vector>

#include "core/cluster/cluster.h"
#include "simulator/collective/algorithms/collective_flows.h"
#include "simulator/collective/flow_wire.h"

namespace trainyard::simulator {

struct RailCluster {
  Cluster cluster;
  std::vector<VertexId> gpus;  // node by node
  std::vector<VertexId> nics;

  RailCluster(int nodes, int gpus_per_node, BytesPerSecond nvlink = 450_GBps, BytesPerSecond cable = 50_GBps) {
    cluster.congestion_control = CongestionControl::kCredit;
    const DeviceTypeId gpu_type = cluster.add_device_type({.name = "H100-SXM5"});
    const DeviceTypeId other = cluster.add_device_type({.name = "other"});
    const auto add = [&](VertexKind kind, std::string name, std::optional<NodeId> node, std::optional<int> rail) {
      Vertex vertex;
      vertex.kind = kind;
      vertex.name = std::move(name);
      vertex.type = kind == VertexKind::kGpu ? gpu_type : other;
      vertex.node = node;
      vertex.rail = rail;
      return cluster.add_vertex(std::move(vertex));
    };
    const auto join = [&](VertexId a, VertexId b, LinkKind kind, BytesPerSecond rate) {
      Link link;
      link.from = a;
      link.to = b;
      link.kind = kind;
      link.network = kind == LinkKind::kCable ? Network::kBackend : Network::kInternal;
      link.bandwidth = link.reverse_bandwidth = rate;
      link.latency = 1_us;
      cluster.add_link(link);
    };
    const VertexId spine = add(VertexKind::kSpine, "spine", {}, {});
    std::vector<VertexId> leaves;
    for (int rail = 0; rail < gpus_per_node; ++rail) {
      leaves.push_back(add(VertexKind::kLeaf, "leaf" + std::to_string(rail), {}, rail));
      join(leaves.back(), spine, LinkKind::kCable, static_cast<double>(nodes) * cable);
    }
    for (int n = 0; n < nodes; ++n) {
      const std::string name = "node" + std::to_string(n);
      const NodeId node = cluster.add_node(name);
      const VertexId nvswitch = add(VertexKind::kNvswitch, name + "/nvswitch", node, {});
      for (int g = 0; g < gpus_per_node; ++g) {
        const std::string index = std::to_string(g);
        const VertexId gpu = add(VertexKind::kGpu, name + "/gpu" + index, node, {});
        const VertexId pcie = add(VertexKind::kPcieSwitch, name + "/pcie" + index, node, {});
        const VertexId nic = add(VertexKind::kNic, name + "/nic" + index, node, g);
        join(gpu, nvswitch, LinkKind::kNvlink, nvlink);
        join(gpu, pcie, LinkKind::kPcie, 64_GBps);
        join(pcie, nic, LinkKind::kPcie, 64_GBps);
        join(nic, leaves[static_cast<std::size_t>(g)], LinkKind::kCable, cable);
        gpus.push_back(gpu);
        nics.push_back(nic);
      }
    }
  }
};

// Bytes that leave and reach each vertex: of flows inside nodes, and between nodes (by NIC).
struct Traffic {
  std::vector<double> out;
  std::vector<double> in;
};

inline Traffic traffic(const Cluster& cluster, const std::vector<Flow>& flows, bool by_nic) {
  Traffic sums{std::vector<double>(cluster.vertices().size()), std::vector<double>(cluster.vertices().size())};
  for (const Flow& flow : flows) {
    sums.out[(by_nic ? *flow.source_nic : flow.source).at()] += flow.bytes.si();
    sums.in[(by_nic ? *flow.destination_nic : flow.destination).at()] += flow.bytes.si();
  }
  return sums;
}

}  // namespace trainyard::simulator
