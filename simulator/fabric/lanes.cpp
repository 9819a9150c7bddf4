#include "simulator/fabric/lanes.h"

namespace trainyard::simulator {

Lanes::Lanes(const Cluster& cluster) {
  const std::size_t arcs = cluster.arcs();
  first_.reserve(arcs + 1);
  arc_.reserve(arcs);
  capacity_.reserve(arcs);
  first_.push_back(0);
  for (const Link& link : cluster.links()) {
    const std::int32_t lanes = is_bundle(link) ? link.width : 1;
    if (lanes == 1) {  // nearly all
      for (const BytesPerSecond bandwidth : {link.bandwidth, link.reverse_bandwidth}) {
        arc_.push_back(static_cast<std::int32_t>(first_.size() - 1));
        capacity_.push_back(bandwidth.si());
        first_.push_back(static_cast<std::uint32_t>(arc_.size()));
      }
      continue;
    }
    for (const BytesPerSecond bandwidth : {link.bandwidth, link.reverse_bandwidth}) {
      const auto arc = static_cast<std::int32_t>(first_.size() - 1);
      arc_.insert(arc_.end(), static_cast<std::size_t>(lanes), arc);
      capacity_.insert(capacity_.end(), static_cast<std::size_t>(lanes), bandwidth.si() / lanes);
      first_.push_back(static_cast<std::uint32_t>(arc_.size()));
    }
  }
  for (std::size_t v = 0; v < cluster.vertices().size(); ++v) {
    if (cluster.vertices()[v].kind == VertexKind::kCpu) {
      const ArcId memory = cluster.memory_arc(VertexId(static_cast<std::int64_t>(v)));
      arc_.push_back(memory.value());
      capacity_.push_back(cluster.bandwidth(memory).si());
    }
    first_.push_back(static_cast<std::uint32_t>(arc_.size()));
  }
}

}  // namespace trainyard::simulator
