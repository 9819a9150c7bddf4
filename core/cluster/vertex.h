// Vertex: one thing in a cluster that data passes through: a GPU, a switch inside or outside a host, a CPU
// socket, a NIC, a storage server.
//
// What many vertices share (an H100, a 64-port switch) is a DeviceType, kept once per cluster.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/units/count.h"
#include "core/units/index.h"
#include "core/units/quantity.h"

namespace trainyard {

using VertexId = Index<struct VertexTag>;
using NodeId = Index<struct NodeTag>;  // a host
using DeviceTypeId = Index<struct DeviceTypeTag>;

enum class VertexKind : std::uint8_t {
  kGpu,
  kNvswitch,    // joins the GPUs of a host or of an NVLink domain (also AMD and Intel counterparts)
  kPcieSwitch,  // inside a host
  kCpu,         // a socket or NUMA domain, with its PCIe root and host memory
  kNic,         // one port group that the fabric sees as one endpoint
  kLeaf,        // first switch tier above the hosts (ToR)
  kSpine,       // second
  kCore,        // third
  kStorage,     // a storage server, an endpoint of the network it is cabled to
};
constexpr int kVertexKinds = 9;
std::string_view to_string(VertexKind kind);  // "gpu", "nvswitch", ...

constexpr bool is_fabric_switch(VertexKind kind) {
  return kind == VertexKind::kLeaf || kind == VertexKind::kSpine || kind == VertexKind::kCore;
}

// What counts as a CPU's host memory where no file says: 8 channels of DDR4-3200 (JEDEC: 25.6 GB/s each).
constexpr BytesPerSecond kUsualHostMemory = 204.8_GBps;

// Unknown is absent. A switch without a buffer size can't be judged on incast; a NIC without the GPUDirect
// flag is taken to have it when its vendor's does.
struct DeviceType {
  std::string name;                           // "H100-SXM5", "ConnectX-7", "Quantum-2 QM9700"
  std::optional<ByteCount> buffer;            // packet memory of a switch
  std::optional<bool> deep_buffer;            // HBM behind the switch chip instead of memory on it
  std::optional<Seconds> hop_latency;         // through the device, first bit in to first bit out
  std::optional<bool> gpudirect;              // a NIC that reads and writes GPU memory without a copy in host memory
  std::optional<std::int32_t> ports;          // of a switch, at the speed its links have
  std::optional<BytesPerSecond> port_rate;    // of a NIC, one way; where it isn't cabled, all that is known of it
  std::optional<BytesPerSecond> memory_rate;  // of a CPU: its host memory, reads and writes together
  std::string source;                         // where these figures are from; empty where they came with an input file
  friend bool operator==(const DeviceType&, const DeviceType&) = default;
};

struct Vertex {
  VertexKind kind = VertexKind::kGpu;
  std::string name;  // unique in the cluster: "node3/gpu5", "pod2/leaf7", or the name an input file gave it
  DeviceTypeId type;
  std::optional<NodeId> node;         // the host it sits in; absent for switches of the fabric and storage
  std::optional<std::int32_t> rail;   // of a NIC, or of a leaf that serves one rail
  std::optional<std::int32_t> plane;  // of a NIC or switch in a fabric of separate planes
  std::optional<std::int32_t> pod;    // of a switch: scalable unit, pod or segment
  friend bool operator==(const Vertex&, const Vertex&) = default;
};

}  // namespace trainyard
