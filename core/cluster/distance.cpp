#include "core/cluster/distance.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <tuple>

#include "core/document/text_match.h"

namespace trainyard {

namespace {

// What a path inside a host has met so far.
struct Label {
  VertexId at;
  bool interconnect = false;
  bool through_cpu = false;
  bool coherent = false;
  bool pcie = false;
  std::int32_t pcie_switches = 0;
  std::int32_t hops = 0;
  BytesPerSecond bandwidth = from_si<BytesPerSecond>(std::numeric_limits<double>::infinity());
  bool settled = false;

  PathClass path() const {
    if (hops == 0) {
      return PathClass::kLoc;
    }
    if (interconnect) {
      return PathClass::kSys;
    }
    if (through_cpu) {
      return coherent ? PathClass::kP2c : PathClass::kPhb;
    }
    if (pcie) {
      return pcie_switches <= 1 ? PathClass::kPix : PathClass::kPxb;
    }
    return coherent ? PathClass::kC2c : PathClass::kNvl;
  }
  auto order() const { return std::tuple(path(), pcie_switches, hops, -bandwidth.si()); }
};

bool is_nvlink(LinkKind kind) { return kind == LinkKind::kNvlink || kind == LinkKind::kXgmi; }

bool lets_through(VertexKind kind) {
  return kind == VertexKind::kNvswitch || kind == VertexKind::kPcieSwitch || kind == VertexKind::kCpu;
}

// Shortest paths from one GPU by Label::order(), which no further hop improves (Dijkstra 1959). A host has a few
// tens of devices, so plain lists are fastest.
class HostSearch {
 public:
  HostSearch(const Cluster& cluster, const ClusterGraph& graph, VertexId gpu)
      : cluster_(cluster), graph_(graph), gpu_(gpu) {
    Label start;
    start.at = gpu;
    labels_.push_back(start);
    while (Label* nearest = nearest_open()) {
      nearest->settled = true;
      if (nearest->at == gpu || lets_through(cluster.vertex(nearest->at).kind)) {
        extend(Label(*nearest));
      }
    }
  }

  const Label* find(VertexId vertex) const {
    const auto found = std::find_if(labels_.begin(), labels_.end(), [&](const Label& l) { return l.at == vertex; });
    return found == labels_.end() ? nullptr : &*found;
  }
  const std::vector<Label>& labels() const { return labels_; }

  // Of the GPU among its host's.
  std::ptrdiff_t gpu_position() const {
    return std::count_if(labels_.begin(), labels_.end(), [this](const Label& label) {
      const Vertex& other = cluster_.vertex(label.at);
      return other.kind == VertexKind::kGpu && other.node == cluster_.vertex(gpu_).node && label.at < gpu_;
    });
  }

 private:
  Label* nearest_open() {
    Label* nearest = nullptr;
    for (Label& label : labels_) {
      if (!label.settled && (nearest == nullptr || label.order() < nearest->order())) {
        nearest = &label;
      }
    }
    return nearest;
  }

  // An NVLink domain may join GPUs of several hosts; everything else stays in the GPU's.
  bool stays_inside(VertexId to, LinkKind kind) const {
    if (kind == LinkKind::kCable) {
      return false;
    }
    const std::optional<NodeId> home = cluster_.vertex(gpu_).node;
    return cluster_.vertex(to).node == home || is_nvlink(kind);
  }

  void extend(const Label& from) {
    const VertexKind passed = cluster_.vertex(from.at).kind;
    for (const Hop& hop : graph_.out(from.at)) {
      const Link& link = cluster_.link(link_of(hop.arc));
      if (!stays_inside(hop.to, link.kind)) {
        continue;
      }
      Label next = from;
      next.at = hop.to;
      next.settled = false;
      next.interconnect = from.interconnect || link.kind == LinkKind::kCpuInterconnect;
      next.coherent = from.coherent || link.kind == LinkKind::kC2c;
      next.pcie = from.pcie || link.kind == LinkKind::kPcie;
      next.through_cpu = from.through_cpu || passed == VertexKind::kCpu ||
                         (cluster_.vertex(hop.to).kind == VertexKind::kCpu && next.pcie);
      next.pcie_switches = from.pcie_switches + (passed == VertexKind::kPcieSwitch ? 1 : 0);
      next.hops = from.hops + 1;
      next.bandwidth = min(from.bandwidth, cluster_.bandwidth(hop.arc));
      offer(next);
    }
  }

  void offer(const Label& next) {
    const auto known = std::find_if(labels_.begin(), labels_.end(), [&](const Label& l) { return l.at == next.at; });
    if (known == labels_.end()) {
      labels_.push_back(next);
    } else if (!known->settled && next.order() < known->order()) {
      *known = next;
    }
  }

  const Cluster& cluster_;
  const ClusterGraph& graph_;
  VertexId gpu_;
  std::vector<Label> labels_;
};

// The widest way over one GPU in between, NVLink on both sides.
std::optional<HostPath> through_another_gpu(const Cluster& cluster, const ClusterGraph& graph, VertexId gpu,
                                            VertexId other) {
  std::optional<HostPath> best;
  for (const Hop& first : graph.out(gpu)) {
    if (!is_nvlink(cluster.link(link_of(first.arc)).kind) || cluster.vertex(first.to).kind != VertexKind::kGpu) {
      continue;
    }
    for (const Hop& second : graph.out(first.to)) {
      if (second.to != other || !is_nvlink(cluster.link(link_of(second.arc)).kind)) {
        continue;
      }
      const BytesPerSecond width = min(cluster.bandwidth(first.arc), cluster.bandwidth(second.arc));
      if (!best || best->bandwidth < width) {
        best = HostPath{PathClass::kNvb, 2, width};
      }
    }
  }
  return best;
}

}  // namespace

std::string_view to_string(PathClass path) {
  constexpr std::array<std::string_view, kPathClasses> kNames = {"LOC", "NVL", "NVB", "C2C", "PIX",
                                                                 "PXB", "P2C", "PHB", "SYS", "none"};
  return kNames[static_cast<std::size_t>(path)];
}

HostPath host_path(const Cluster& cluster, const ClusterGraph& graph, VertexId gpu, VertexId other) {
  if (gpu == other) {
    return {PathClass::kLoc, 0, {}};
  }
  const HostSearch search(cluster, graph, gpu);
  HostPath direct;
  if (const Label* label = search.find(other)) {
    direct = {label->path(), label->hops, label->bandwidth};
  }
  if (direct.path > PathClass::kNvb && cluster.vertex(other).kind == VertexKind::kGpu) {
    return through_another_gpu(cluster, graph, gpu, other).value_or(direct);
  }
  return direct;
}

std::vector<NicPath> nics_of(const Cluster& cluster, const ClusterGraph& graph, VertexId gpu, Network network,
                             PathClass gpudirect_limit) {
  const HostSearch search(cluster, graph, gpu);
  std::vector<NicPath> nics;
  for (const Label& label : search.labels()) {
    if (cluster.vertex(label.at).kind != VertexKind::kNic ||
        network_of(cluster, graph, label.at).value_or(Network::kBackend) != network) {
      continue;
    }
    const bool near = label.path() <= gpudirect_limit;
    const bool direct = near && has_gpudirect(cluster.type(label.at)) && cluster.type(gpu).gpudirect.value_or(true);
    nics.push_back({label.at, label.path(), label.bandwidth, direct});
  }
  std::sort(nics.begin(), nics.end(), [](const NicPath& a, const NicPath& b) {
    return std::tuple(a.path, -a.bandwidth.si(), a.nic) < std::tuple(b.path, -b.bandwidth.si(), b.nic);
  });
  const auto equal_to_first = [&](const NicPath& n) {
    return n.path == nics.front().path && n.bandwidth == nics.front().bandwidth;
  };
  const auto ties = std::find_if_not(nics.begin(), nics.end(), equal_to_first);
  if (ties != nics.begin()) {
    std::rotate(nics.begin(), nics.begin() + search.gpu_position() % (ties - nics.begin()), ties);
  }
  return nics;
}

std::optional<Network> network_of(const Cluster& cluster, const ClusterGraph& graph, VertexId nic) {
  for (const Hop& hop : graph.out(nic)) {
    const Link& link = cluster.link(link_of(hop.arc));
    if (link.kind == LinkKind::kCable) {
      return link.network;
    }
  }
  return std::nullopt;
}

bool passes_peer_traffic(const DeviceType& cpu) {
  const std::string name = lower_case(cpu.name);
  return name.find("amd") != std::string::npos || name.find("epyc") != std::string::npos;
}

bool has_gpudirect(const DeviceType& nic) {
  if (nic.gpudirect) {
    return *nic.gpudirect;
  }
  // RDMA NICs whose drivers register GPU memory: NVIDIA (Mellanox), AWS, Broadcom, AMD Pensando, HPE Slingshot.
  constexpr std::array<std::string_view, 9> kCapable = {"connectx", "mlx5", "bluefield", "efa",    "bnxt",
                                                        "thor",     "cxi",  "ionic",     "pollara"};
  const std::string name = lower_case(nic.name);
  return std::any_of(kCapable.begin(), kCapable.end(),
                     [&](std::string_view capable) { return name.find(capable) != std::string::npos; });
}

}  // namespace trainyard
