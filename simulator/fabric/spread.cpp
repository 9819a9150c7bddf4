#include "simulator/fabric/spread.h"

namespace trainyard::simulator {

Seconds arc_latency(const Cluster& cluster, ArcId arc) {
  const Seconds link = cluster.link(link_of(arc)).latency;
  const DeviceTypeId type = cluster.vertex(cluster.tail(arc)).type;
  if (type.at() >= cluster.device_types().size()) {
    return link;
  }
  return link + cluster.device_types()[type.at()].hop_latency.value_or(Seconds());
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
