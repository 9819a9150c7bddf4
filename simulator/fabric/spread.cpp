#include "simulator/fabric/spread.h"

namespace trainyard::simulator {

std::vector<Seconds> arc_latencies(const Cluster& cluster) {
  std::vector<Seconds> of_device;  // by vertex
  of_device.reserve(cluster.vertices().size());
  for (const Vertex& vertex : cluster.vertices()) {
    const bool known = vertex.type.at() < cluster.device_types().size();
    of_device.push_back(known ? cluster.device_types()[vertex.type.at()].hop_latency.value_or(Seconds()) : Seconds());
  }
  std::vector<Seconds> latencies;
  latencies.reserve(2 * cluster.links().size());
  for (const Link& link : cluster.links()) {
    latencies.push_back(link.latency + of_device[link.from.at()]);
    latencies.push_back(link.latency + of_device[link.to.at()]);
  }
  return latencies;
}

Spreader::Spreader(const std::vector<Seconds>& arc_latency, std::size_t vertices)
    : arc_latency_(arc_latency), share_(vertices, 0.0), arrival_(vertices) {}

void Spreader::pass_on(VertexId from, std::span<const NextHop> hops) {
  double widths = 0.0;
  for (const NextHop& hop : hops) {
    widths += hop.width;
  }
  const double per_width = share_[from.at()] / widths;
  for (const NextHop& hop : hops) {
    const double part = per_width * hop.width;
    if (hop.cable > 0 && !uses_.empty() && uses_.back().arc == hop.arc) {
      uses_.back().weight += part;  // all cables of a bundle: one use of the whole
    } else {
      uses_.push_back({hop.arc, kAllCables, part});
    }
    if (share_[hop.to.at()] == 0.0) {
      next_level_.push_back(hop.to);
      arrival_[hop.to.at()] = Seconds();
    }
    share_[hop.to.at()] += part;
    arrival_[hop.to.at()] = max(arrival_[hop.to.at()], arrival_[from.at()] + arc_latency_[hop.arc.at()]);
  }
}

bool Spreader::spread(EqualCostPaths& paths, VertexId from, VertexId destination, bool before_last) {
  uses_.clear();
  arrivals_.clear();
  latency_ = Seconds();
  level_.assign(1, from);
  share_[from.at()] = 1.0;
  arrival_[from.at()] = Seconds();
  bool found = false;
  while (!level_.empty()) {
    next_level_.clear();
    for (const VertexId v : level_) {
      const std::span<const NextHop> hops = paths.next_hops(v, destination);
      const bool arrived = v == destination || (before_last && !hops.empty() && hops.front().to == destination &&
                                                !paths.forwards(destination));
      if (arrived) {
        arrivals_.push_back({v, share_[v.at()]});
        latency_ = max(latency_, arrival_[v.at()]);
        found = true;
      } else if (!hops.empty()) {
        pass_on(v, hops);
      }
    }
    for (const VertexId v : level_) {
      share_[v.at()] = 0.0;
    }
    level_.swap(next_level_);
  }
  return found;
}

}  // namespace trainyard::simulator
