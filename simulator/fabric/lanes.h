// Lanes: what a flow can fill. One cable of a bundle is a lane of its own, since a hashed flow stays on one; every
// other arc is a single lane, however many NVLinks or PCIe lanes it has.
//
//   capacity of a lane = bandwidth of the arc / lanes of the arc
//
// The host memory of a CPU is a lane too. Numbered arc by arc, so that a vector by lane can stand for a map.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/cluster/cluster.h"

namespace trainyard::simulator {

constexpr bool is_bundle(const Link& link) { return link.kind == LinkKind::kCable && link.width > 1; }

class Lanes {
 public:
  explicit Lanes(const Cluster& cluster);

  std::size_t size() const { return arc_.size(); }
  std::size_t first(ArcId arc) const { return first_[arc.at()]; }
  std::size_t count(ArcId arc) const { return first_[arc.at() + 1] - first_[arc.at()]; }
  ArcId arc(std::size_t lane) const { return ArcId(arc_[lane]); }
  // Bytes a second; read from the cluster as it was when the lanes were made.
  double capacity(std::size_t lane) const { return capacity_[lane]; }

 private:
  std::vector<std::uint32_t> first_;
  std::vector<std::int32_t> arc_;
  std::vector<double> capacity_;
};

}  // namespace trainyard::simulator
