// Flow: bytes that go from one vertex to another over the fabric; FlowSet: many of them with their paths.
//
// A queue pair of a channel is a flow of its own: hashing sees flows, not messages. A path is a list of legs with
// shares; a leg is a list of links used, kept once for all flows that have it in common (a GPU's way to its NIC, the
// sprayed ways from leaf to leaf). The fair-share solver sees only links and weights: it knows no topology.
//
//   bytes that cross an arc per byte of a flow = sum over the legs of its path of share * weight(arc in leg)
//
// Memory: 131,072 flows of 12 links each are 50 MB.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/cluster/cluster.h"
#include "core/units/quantity.h"

namespace trainyard::simulator {

struct Flow {
  VertexId source;  // GPU, NIC, CPU (host memory) or storage server
  VertexId destination;
  // Where the flow leaves and enters a host; absent: the nearest NIC of the network. Given both, the flow takes the
  // network even inside a host. A relay is a GPU of the source's NVLink domain that data goes to first (NCCL's PXN).
  std::optional<VertexId> source_nic;
  std::optional<VertexId> destination_nic;
  std::optional<VertexId> relay;
  Bytes bytes;
  // What a hash of the packet header sees beside both ends.
  std::int32_t queue_pair = 0;
  std::int32_t channel = 0;
  double weight = 1.0;                     // its part of a shared link against others' there; above zero
  std::optional<BytesPerSecond> rate_cap;  // of the protocol or engine, before any sharing
  // Flows that move in lock-step, such as the hops of one ring: at any moment all have moved the same fraction of
  // their bytes, so that the slowest holds all. Absent: alone.
  std::optional<std::int32_t> coupled_group;
};

// Which cable of a bundle a flow is hashed to; kAllCables where packets are spread over all of them, and on
// everything that isn't a bundle (NVLinks and PCIe lanes are always used together).
constexpr std::int16_t kAllCables = -1;

struct ArcUse {
  ArcId arc;
  std::int16_t cable = kAllCables;
  double weight = 1.0;  // bytes across the arc per byte of the leg
};

using LegId = Index<struct LegTag>;

struct LegUse {
  LegId leg;
  double share = 1.0;  // of the flow's bytes
};

class FlowSet {
 public:
  void reserve(std::size_t flows, std::size_t arc_uses);
  // `latency` of the slowest way through the leg.
  LegId add_leg(std::span<const ArcUse> uses, Seconds latency);
  void add(const Flow& flow, std::span<const LegUse> path);
  void add_on_last_path(const Flow& flow);  // on the path of the flow added last

  const std::vector<Flow>& flows() const { return flows_; }
  std::size_t arc_uses() const { return uses_.size(); }  // of all legs
  std::size_t legs() const { return leg_first_.size() - 1; }
  std::span<const ArcUse> uses(LegId leg) const { return row(uses_, leg_first_, leg.at()); }
  Seconds latency(LegId leg) const { return latency_[leg.at()]; }
  // Flows with the same number have the same legs; neighbours that share a path share the number.
  std::size_t path_of(std::size_t flow) const { return path_of_[flow]; }
  std::size_t paths() const { return path_first_.size() - 1; }
  std::span<const LegUse> path(std::size_t path) const { return row(paths_, path_first_, path); }
  Bytes bytes_of_path(std::size_t path) const { return path_bytes_[path]; }  // of its flows together

  // One flow's links in order, its weights multiplied out; for people and tests, not for solving.
  std::vector<ArcUse> uses_of_flow(std::size_t flow) const;
  Seconds latency_of_flow(std::size_t flow) const;  // sum over its legs

  // What routing assumed, for people: "8 GPUs bounce through host memory".
  std::vector<std::string> notes;

 private:
  template <class T>
  static std::span<const T> row(const std::vector<T>& values, const std::vector<std::uint32_t>& first, std::size_t i) {
    return {values.data() + first[i], values.data() + first[i + 1]};
  }

  std::vector<Flow> flows_;
  std::vector<std::uint32_t> path_of_;
  std::vector<LegUse> paths_;
  std::vector<Bytes> path_bytes_;
  std::vector<std::uint32_t> path_first_ = {0};
  std::vector<ArcUse> uses_;
  std::vector<std::uint32_t> leg_first_ = {0};
  std::vector<Seconds> latency_;
};

}  // namespace trainyard::simulator
