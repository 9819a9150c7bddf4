// Link: a cable or a bus between two vertices, with its bandwidth each way and its latency.
//
//   latency of a cable = length 4.9 ns/m + modules + forward error correction       (models/cables/)
//
// A link is two arcs, one each way; flows load arcs. Parallel equal cables between the same two vertices are
// one link of that width: hashing still sees `width` members (a bundle), bandwidth is of all together.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/cluster/vertex.h"

namespace trainyard {

using LinkId = Index<struct LinkTag>;
using CableId = Index<struct CableTag>;

enum class LinkKind : std::uint8_t {
  kNvlink,           // NVLink; `generation` 1 to 5, `width` links
  kXgmi,             // AMD Infinity Fabric between GPUs
  kC2c,              // NVLink-C2C and other coherent CPU-GPU links
  kPcie,             // `generation` 1 to 6, `width` lanes
  kCpuInterconnect,  // UPI, QPI, xGMI between sockets
  kCable,            // outside the host
};
constexpr int kLinkKinds = 6;
std::string_view to_string(LinkKind kind);

// Which traffic a cable is there for. Checkpoints, data loading and storage can be put on either.
enum class Network : std::uint8_t {
  kInternal,  // inside a host or an NVLink domain
  kBackend,   // gradients, parameters, activations
  kFrontend,  // storage, data loading, logins
};
constexpr int kNetworks = 3;
std::string_view to_string(Network network);

enum class CableType : std::uint8_t { kPassiveCopper, kActiveCopper, kActiveOptical, kMultimode, kSingleMode };
constexpr int kCableTypes = 5;
std::string_view to_string(CableType type);  // "passive_copper", ...

struct Cable {
  CableType type = CableType::kPassiveCopper;
  double length_m = 0.0;
  friend bool operator==(const Cable&, const Cable&) = default;
};

struct Link {
  VertexId from;
  VertexId to;
  LinkKind kind = LinkKind::kCable;
  Network network = Network::kInternal;
  std::optional<std::int32_t> generation;
  std::int32_t width = 1;            // NVLinks, PCIe lanes, or cables side by side
  BytesPerSecond bandwidth;          // from -> to, all of the width together
  BytesPerSecond reverse_bandwidth;  // to -> from
  Seconds latency;                   // one way, the switch behind it not counted
  std::optional<CableId> cable;      // of a kCable whose type and length are known
  friend bool operator==(const Link&, const Link&) = default;
};

// A direction of a link: 2 link for from -> to, 2 link + 1 for to -> from. Behind those of all links come arcs from a
// vertex to itself, the host memory of a CPU (Cluster::memory_arc).
using ArcId = Index<struct ArcTag>;
constexpr ArcId forward_arc(LinkId link) { return ArcId(2 * std::int64_t{link.value()}); }
constexpr ArcId reverse_arc(LinkId link) { return ArcId(2 * std::int64_t{link.value()} + 1); }
constexpr LinkId link_of(ArcId arc) { return LinkId(arc.value() / 2); }
constexpr bool is_reverse(ArcId arc) { return arc.value() % 2 != 0; }

}  // namespace trainyard
