// CollectiveSite: what decides a collective's time besides its size, in a dozen facts.
//
// A "node" is what shares memory-speed links: a host, or for GB200 an NVLink domain of up to 72 GPUs. Facts of
// a generation (how much NVLink carries, when NVLS is used) are in models/collectives/links.json, read as
// LinkFacts; facts of the site come from a cluster, an instance type or a hardware description.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/units/quantity.h"

namespace trainyard::simulator {

enum class GpuGeneration : std::uint8_t { kVolta, kAmpere, kHopper, kBlackwell, kMi300, kMi350, kOther };
constexpr int kGpuGenerations = 7;
std::string_view to_string(GpuGeneration generation);  // "volta", ...

enum class NodeLinks : std::uint8_t {
  kNvswitch,  // every GPU reaches every other at its full NVLink rate
  kCubeMesh,  // DGX-1: hybrid cube mesh, V100
  kXgmi,      // AMD: a link between every pair
  kPcie,      // no GPU links
};
constexpr int kNodeLinks = 4;
std::string_view to_string(NodeLinks links);

enum class FabricKind : std::uint8_t { kInfiniband, kRoce, kEfaV1, kEfaV2, kEfaV3, kEfaV4, kTcpx, kTcpxo, kTcp };
constexpr int kFabricKinds = 9;
std::string_view to_string(FabricKind fabric);  // "infiniband", "efa_v1", ...

enum class CpuVendor : std::uint8_t { kIntel, kAmd, kArm };
std::string_view to_string(CpuVendor vendor);

struct CollectiveSite {
  std::string accelerator;  // "h100", as the description names it; may be empty
  GpuGeneration generation = GpuGeneration::kHopper;
  NodeLinks links = NodeLinks::kNvswitch;
  int gpus_per_node = 8;           // installed; of an NVLink domain for GB200
  int nodes = 1;                   // that the group lies on
  int ranks = 8;                   // of the group, spread evenly over the nodes
  BytesPerSecond intra_bandwidth;  // links of one GPU, one way, as NCCL counts them; 0: of the generation
  int nics = 0;                    // of a node, back-end
  BytesPerSecond nic_rate;         // of each
  FabricKind fabric = FabricKind::kInfiniband;
  CpuVendor cpu = CpuVendor::kIntel;
  bool nvls = false;        // NVSwitch that reduces: Hopper and later
  bool sharp = false;       // fabric switches that reduce
  bool nvl_domain = false;  // GB200 NVL72 and its kin: the node is a rack of trays
  bool framework = false;   // driven from a training framework's loop, not from nccl-tests

  int ranks_per_node() const { return (ranks + nodes - 1) / nodes; }
  BytesPerSecond nic_sum() const { return static_cast<double>(nics) * nic_rate; }
};

}  // namespace trainyard::simulator
