// How far two devices of one host are apart, and which NICs a GPU can use how.
//
// The distance is the class of the best path inside the host, by NCCL's names (graph/topo.h of NCCL 2.30,
// reference: docs/cost_model.md, "Inside a host"). Best first:
//
//   LOC  itself                          PIX  at most one PCIe switch between
//   NVL  NVLink or Infinity Fabric       PXB  several PCIe switches
//   NVB  NVLink through another GPU      P2C  coherent link to a CPU, then PCIe
//   C2C  coherent link to a CPU          PHB  through a CPU's PCIe root
//                                        SYS  from one CPU to another
//
// A NIC reads and writes GPU memory itself (GPUDirect RDMA) when it can and the GPU is no farther than a limit;
// otherwise data bounces through host memory and crosses PCIe and host memory twice. NCCL's default limit is P2C:
// PIX, PXB and P2C are near enough, PHB and SYS aren't (NCCL_NET_GDR_LEVEL, NCCL_NET_GDR_C2C).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/cluster/cluster.h"
#include "core/cluster/graph.h"

namespace trainyard {

enum class PathClass : std::uint8_t { kLoc, kNvl, kNvb, kC2c, kPix, kPxb, kP2c, kPhb, kSys, kNone };
constexpr int kPathClasses = 10;
std::string_view to_string(PathClass path);  // "LOC", "NVL", ...; "none" where no path stays in the host

constexpr PathClass kGpudirectLimit = PathClass::kP2c;

struct HostPath {
  PathClass path = PathClass::kNone;
  std::int32_t hops = 0;
  BytesPerSecond bandwidth;  // of the narrowest link on the way; 0 for LOC and none
};

// From a GPU to another device of its host, or to a GPU of its NVLink domain. About 10 us for a host of 25 devices.
HostPath host_path(const Cluster& cluster, const ClusterGraph& graph, VertexId gpu, VertexId other);

struct NicPath {
  VertexId nic;
  PathClass path = PathClass::kNone;
  BytesPerSecond bandwidth;  // between GPU and NIC
  bool gpudirect = false;    // false: data bounces through host memory
};

// NICs of a GPU's host that are cabled to `network`, nearest first, then by bandwidth, then by position. Of several
// equally near, the i-th GPU of the host has the i-th first, as NCCL shares them out. A NIC without a cable, as in the
// file of one node, counts as back-end.
std::vector<NicPath> nics_of(const Cluster& cluster, const ClusterGraph& graph, VertexId gpu, Network network,
                             PathClass gpudirect_limit = kGpudirectLimit);

// The network of a NIC's first cable; absent without one.
std::optional<Network> network_of(const Cluster& cluster, const ClusterGraph& graph, VertexId nic);

// Whether GPUs on either side of this CPU read each other's memory over PCIe. NCCL lets them through AMD's; through
// Intel's and ARM's it stays with PCIe switches (PXB) and goes by host memory beyond (ncclTopoCheckP2p in
// graph/paths.cc of NCCL 2.30; NCCL_P2P_LEVEL changes it). A CPU that no name tells counts as the latter.
bool passes_peer_traffic(const DeviceType& cpu);

// Whether the NIC can do GPUDirect RDMA at all: what its type says, or else what its vendor's do, by name.
bool has_gpudirect(const DeviceType& nic);

}  // namespace trainyard
