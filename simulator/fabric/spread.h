// Spread: data that takes every shortest way at once, an equal part by each way on.
//
//   share(u) = sum over v with u as a next hop of share(v) * width(v -> u) / sum of widths of v's next hops
#pragma once

#include <vector>

#include "core/cluster/cluster.h"
#include "simulator/fabric/equal_cost_paths.h"
#include "simulator/fabric/flow.h"

namespace trainyard::simulator {

// By arc of a link: time of a bit through it and the device it starts from.
std::vector<Seconds> arc_latencies(const Cluster& cluster);

struct Arrival {
  VertexId at;
  double share = 1.0;
};

// Working memory of spread(), kept from call to call.
class Spreader {
 public:
  // Latencies by arc must outlive it.
  Spreader(const std::vector<Seconds>& arc_latency, std::size_t vertices);

  // Uses and latency of all shortest ways from `from`, which `share` of the data starts from. Stops at
  // `destination`; with `before_last` at the switches it hangs on. False where there is no way.
  bool spread(EqualCostPaths& paths, VertexId from, VertexId destination, bool before_last);

  const std::vector<ArcUse>& uses() const { return uses_; }
  const std::vector<Arrival>& arrivals() const { return arrivals_; }
  Seconds latency() const { return latency_; }

 private:
  void pass_on(VertexId from, std::span<const NextHop> hops);

  const std::vector<Seconds>& arc_latency_;
  std::vector<ArcUse> uses_;
  std::vector<Arrival> arrivals_;
  Seconds latency_;
  std::vector<double> share_;     // by vertex; zero between calls
  std::vector<Seconds> arrival_;  // by vertex: of the slowest way there
  std::vector<VertexId> level_;
  std::vector<VertexId> next_level_;
};

}  // namespace trainyard::simulator
