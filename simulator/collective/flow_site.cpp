#include "simulator/collective/flow_site.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/document/text_match.h"

namespace trainyard::simulator {

namespace {

// Empty where the vertex's type isn't known.
std::string type_name(const Cluster& cluster, VertexId vertex) {
  const DeviceTypeId type = cluster.vertex(vertex).type;
  return type.at() < cluster.device_types().size() ? lower_case(cluster.device_types()[type.at()].name) : std::string();
}

struct GpuLinks {
  BytesPerSecond total;
  BytesPerSecond pcie;
  bool nvswitch = false;
  bool xgmi = false;
  bool any = false;
};

GpuLinks links_of(const Cluster& cluster, const ClusterGraph& graph, VertexId gpu) {
  GpuLinks links;
  for (const Hop& hop : graph.out(gpu)) {
    const LinkKind kind = cluster.link(link_of(hop.arc)).kind;
    if (kind == LinkKind::kNvlink || kind == LinkKind::kXgmi) {
      links.any = true;
      links.xgmi = links.xgmi || kind == LinkKind::kXgmi;
      links.nvswitch = links.nvswitch || cluster.vertex(hop.to).kind == VertexKind::kNvswitch;
      links.total += cluster.bandwidth(hop.arc);
    } else if (kind == LinkKind::kPcie) {
      links.pcie += cluster.bandwidth(hop.arc);
    }
  }
  return links;
}

// For files that don't name the GPU: what its NVLinks carry one way, all together (data sheets: V100 150, A100 300,
// H100 450, B200 900 GB/s; NCCL's figures for a link are a tenth lower).
GpuGeneration generation_of_links(const GpuLinks& links) {
  constexpr std::array<std::pair<BytesPerSecond, GpuGeneration>, 4> kTotals = {{{150_GBps, GpuGeneration::kVolta},
                                                                                {300_GBps, GpuGeneration::kAmpere},
                                                                                {450_GBps, GpuGeneration::kHopper},
                                                                                {900_GBps, GpuGeneration::kBlackwell}}};
  constexpr double kLeast = 0.8;
  if (links.nvswitch && !links.xgmi) {
    for (const auto& [total, generation] : kTotals) {
      if (links.total >= kLeast * total && links.total <= 1.01 * total) {
        return generation;
      }
    }
  }
  return GpuGeneration::kOther;
}

NodeLinks node_links(const GpuLinks& links, GpuGeneration generation) {
  if (links.nvswitch) {
    return links.xgmi ? NodeLinks::kXgmi : NodeLinks::kNvswitch;
  }
  if (links.xgmi) {
    return NodeLinks::kXgmi;
  }
  if (!links.any) {
    return NodeLinks::kPcie;
  }
  return generation == GpuGeneration::kVolta ? NodeLinks::kCubeMesh : NodeLinks::kNvswitch;
}

FabricKind fabric_of(const Cluster& cluster, VertexId nic, GpuGeneration generation, bool h200) {
  const std::string name = type_name(cluster, nic);
  if (contains(name, "efa")) {
    switch (generation) {
      case GpuGeneration::kVolta:
      case GpuGeneration::kAmpere:
        return FabricKind::kEfaV1;
      case GpuGeneration::kBlackwell:
        return FabricKind::kEfaV4;
      default:
        return h200 ? FabricKind::kEfaV3 : FabricKind::kEfaV2;
    }
  }
  if (contains(name, "tcpxo")) {
    return FabricKind::kTcpxo;
  }
  if (contains(name, "tcpx")) {
    return FabricKind::kTcpx;
  }
  return cluster.congestion_control == CongestionControl::kCredit ? FabricKind::kInfiniband : FabricKind::kRoce;
}

CpuVendor cpu_of(const Cluster& cluster) {
  const auto& vertices = cluster.vertices();
  const auto found =
      std::find_if(vertices.begin(), vertices.end(), [](const Vertex& v) { return v.kind == VertexKind::kCpu; });
  if (found == vertices.end()) {
    return CpuVendor::kIntel;
  }
  const std::string name = type_name(cluster, VertexId(found - vertices.begin()));
  if (contains(name, "epyc") || contains(name, "amd")) {
    return CpuVendor::kAmd;
  }
  return contains(name, "grace") || contains(name, "arm") || contains(name, "graviton") ? CpuVendor::kArm
                                                                                        : CpuVendor::kIntel;
}

BytesPerSecond usual_nic_rate(const Cluster& cluster, const ClusterGraph& graph, const GroupLayout& layout,
                              Network network) {
  std::vector<double> rates;
  for (const NodePart& node : layout.nodes) {
    for (const VertexId nic : node.nics) {
      rates.push_back(nic_rate(cluster, graph, nic, network).si());
    }
  }
  const auto middle = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
  std::nth_element(rates.begin(), middle, rates.end());
  return from_si<BytesPerSecond>(*middle);
}

struct InstalledGpus {
  int gpus = 0;
  bool several_hosts = false;
};

InstalledGpus installed(const Cluster& cluster, const Domains& domains, VertexId member) {
  InstalledGpus found;
  for (std::size_t v = 0; v < cluster.vertices().size(); ++v) {
    const VertexId id(static_cast<std::int64_t>(v));
    if (cluster.vertex(id).kind == VertexKind::kGpu && domains.of(id) == domains.of(member)) {
      ++found.gpus;
      found.several_hosts = found.several_hosts || cluster.vertex(id).node != cluster.vertex(member).node;
    }
  }
  return found;
}

}  // namespace

GpuGeneration generation_of(std::string_view gpu_type) {
  using enum GpuGeneration;
  // Longer names first: "gb200" holds "b200".
  constexpr std::array<std::pair<std::string_view, GpuGeneration>, 16> kNames = {{{"mi300", kMi300},
                                                                                  {"mi325", kMi300},
                                                                                  {"mi350", kMi350},
                                                                                  {"mi355", kMi350},
                                                                                  {"gb200", kBlackwell},
                                                                                  {"gb300", kBlackwell},
                                                                                  {"gh200", kHopper},
                                                                                  {"b100", kBlackwell},
                                                                                  {"b200", kBlackwell},
                                                                                  {"b300", kBlackwell},
                                                                                  {"h100", kHopper},
                                                                                  {"h200", kHopper},
                                                                                  {"h800", kHopper},
                                                                                  {"a100", kAmpere},
                                                                                  {"a800", kAmpere},
                                                                                  {"v100", kVolta}}};
  const std::string name = lower_case(gpu_type);
  const auto* found =
      std::find_if(kNames.begin(), kNames.end(), [&](const auto& n) { return contains(name, n.first); });
  return found == kNames.end() ? kOther : found->second;
}

BytesPerSecond nic_rate(const Cluster& cluster, const ClusterGraph& graph, VertexId nic, Network network) {
  BytesPerSecond rate;
  for (const Hop& hop : graph.out(nic)) {
    const Link& link = cluster.link(link_of(hop.arc));
    if (link.network == network && link.kind == LinkKind::kCable) {
      rate += cluster.bandwidth(hop.arc);
    }
  }
  return rate;
}

CollectiveSite site_of(const Cluster& cluster, const ClusterGraph& graph, const Domains& domains,
                       const GroupLayout& layout, bool sharp, Network network) {
  const VertexId gpu = layout.nodes.front().gpus.front();
  const std::string name = type_name(cluster, gpu);
  const GpuLinks links = links_of(cluster, graph, gpu);
  const InstalledGpus in_node = installed(cluster, domains, gpu);
  CollectiveSite site;
  site.generation = generation_of(name);
  if (site.generation == GpuGeneration::kOther) {
    site.generation = generation_of_links(links);
  }
  site.links = node_links(links, site.generation);
  site.gpus_per_node = in_node.gpus;
  site.nodes = static_cast<int>(layout.nodes.size());
  site.ranks = static_cast<int>(layout.size());
  if (site.links == NodeLinks::kPcie) {
    site.intra_bandwidth = links.pcie;
  } else if (site.generation == GpuGeneration::kOther) {
    site.intra_bandwidth = links.total;
  }
  site.cpu = cpu_of(cluster);
  site.nvls =
      links.nvswitch && (site.generation == GpuGeneration::kHopper || site.generation == GpuGeneration::kBlackwell);
  site.sharp = sharp;
  site.nvl_domain = in_node.several_hosts;
  if (site.nodes > 1) {
    site.nics = static_cast<int>(layout.rails);
    site.nic_rate = usual_nic_rate(cluster, graph, layout, network);
    site.fabric = fabric_of(cluster, layout.nodes.front().nics.front(), site.generation, contains(name, "h200"));
  }
  return site;
}

}  // namespace trainyard::simulator
