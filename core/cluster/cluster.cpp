#include "core/cluster/cluster.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace trainyard {

namespace {

// Position of `value` in a table of distinct values, added if new. The tables hold a handful of entries.
template <class Id, class T>
Id intern(std::vector<T>& table, T value) {
  const auto found = std::find(table.begin(), table.end(), value);
  if (found != table.end()) {
    return Id(found - table.begin());
  }
  table.push_back(std::move(value));
  return Id(static_cast<std::int64_t>(table.size()) - 1);
}

bool is_rate(BytesPerSecond rate) { return std::isfinite(rate.si()) && rate.si() > 0.0; }

}  // namespace

void Cluster::reserve(std::size_t vertices, std::size_t links) {
  vertices_.reserve(vertices);
  links_.reserve(links);
}

VertexId Cluster::add_vertex(Vertex vertex) {
  vertices_.push_back(std::move(vertex));
  return VertexId(static_cast<std::int64_t>(vertices_.size()) - 1);
}

LinkId Cluster::add_link(Link link) {
  const auto exists = [this](VertexId id) { return id.value() >= 0 && id.at() < vertices_.size(); };
  if (!exists(link.from) || !exists(link.to)) {
    throw Error("a link to a vertex that isn't there", name);
  }
  const std::string ends = vertex(link.from).name + " - " + vertex(link.to).name;
  if (link.from == link.to) {
    throw Error("a link from a vertex to itself", ends);
  }
  if (!is_rate(link.bandwidth) || !is_rate(link.reverse_bandwidth)) {
    throw Error("a link needs a bandwidth above zero each way", ends);
  }
  links_.push_back(link);
  return LinkId(static_cast<std::int64_t>(links_.size()) - 1);
}

NodeId Cluster::add_node(std::string node) {
  nodes_.push_back(std::move(node));
  return NodeId(static_cast<std::int64_t>(nodes_.size()) - 1);
}

DeviceTypeId Cluster::add_device_type(DeviceType type) { return intern<DeviceTypeId>(device_types_, std::move(type)); }

CableId Cluster::add_cable(Cable cable) { return intern<CableId>(cables_, cable); }

VertexId Cluster::tail(ArcId arc) const {
  if (is_memory(arc)) {
    return VertexId(static_cast<std::int64_t>(arc.at() - 2 * links_.size()));
  }
  const Link& of = link(link_of(arc));
  return is_reverse(arc) ? of.to : of.from;
}

VertexId Cluster::head(ArcId arc) const {
  if (is_memory(arc)) {
    return tail(arc);
  }
  const Link& of = link(link_of(arc));
  return is_reverse(arc) ? of.from : of.to;
}

BytesPerSecond Cluster::bandwidth(ArcId arc) const {
  if (is_memory(arc)) {
    const DeviceTypeId type = vertex(tail(arc)).type;
    return type.at() < device_types_.size() ? device_types_[type.at()].memory_rate.value_or(kUsualHostMemory)
                                            : kUsualHostMemory;
  }
  const Link& of = link(link_of(arc));
  return is_reverse(arc) ? of.reverse_bandwidth : of.bandwidth;
}

std::vector<VertexId> Cluster::of_kind(VertexKind kind) const {
  std::vector<VertexId> found;
  for (std::size_t i = 0; i < vertices_.size(); ++i) {
    if (vertices_[i].kind == kind) {
      found.push_back(VertexId(static_cast<std::int64_t>(i)));
    }
  }
  return found;
}

std::vector<VertexId> Cluster::gpus() const { return of_kind(VertexKind::kGpu); }

std::optional<VertexId> Cluster::find(std::string_view wanted) const {
  for (std::size_t i = 0; i < vertices_.size(); ++i) {
    if (vertices_[i].name == wanted) {
      return VertexId(static_cast<std::int64_t>(i));
    }
  }
  return std::nullopt;
}

}  // namespace trainyard
