// Cluster: devices and the fabric that joins them, as values.
//
// Vertices and links in the order they were added; an id is a position. Rank r is the r-th GPU in that order.
// ClusterGraph (graph.h) is the adjacency of it, for algorithms.
// As a file: docs/file_formats.md, "topology".
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cluster/link.h"
#include "core/cluster/vertex.h"

namespace trainyard {

constexpr int kTopologySchema = 1;

// What a full switch buffer does.
enum class CongestionControl : std::uint8_t {
  kCredit,  // InfiniBand: nothing is sent without room at the receiver
  kPfc,     // RoCE with priority flow control: the upstream port pauses
  kLossy,   // packets are dropped and sent again
};
constexpr int kCongestionControls = 3;
std::string_view to_string(CongestionControl control);

class Cluster {
 public:
  std::string name;
  std::optional<CongestionControl> congestion_control;  // of the back-end network
  std::vector<std::string> notes;                       // what a builder or importer assumed, for people

  VertexId add_vertex(Vertex vertex);
  // Throws Error (where: names of both ends) for a vertex that isn't there, a loop, or a bandwidth that isn't
  // positive and finite.
  LinkId add_link(Link link);
  NodeId add_node(std::string name);
  DeviceTypeId add_device_type(DeviceType type);  // equal ones once
  CableId add_cable(Cable cable);                 // equal ones once
  void reserve(std::size_t vertices, std::size_t links);

  const std::vector<Vertex>& vertices() const { return vertices_; }
  const std::vector<Link>& links() const { return links_; }
  const std::vector<std::string>& nodes() const { return nodes_; }  // names by NodeId
  const std::vector<DeviceType>& device_types() const { return device_types_; }
  const std::vector<Cable>& cables() const { return cables_; }

  const Vertex& vertex(VertexId id) const { return vertices_[id.at()]; }
  Vertex& vertex(VertexId id) { return vertices_[id.at()]; }  // to label one: rail, plane, pod
  const Link& link(LinkId id) const { return links_[id.at()]; }
  Link& link(LinkId id) { return links_[id.at()]; }  // to degrade one; ends must stay
  const DeviceType& type(VertexId id) const { return device_types_[vertex(id).type.at()]; }

  // Host memory is an arc from a CPU to itself, which reads and writes load alike; every vertex has the number.
  ArcId memory_arc(VertexId cpu) const { return ArcId(static_cast<std::int64_t>(2 * links_.size() + cpu.at())); }
  bool is_memory(ArcId arc) const { return arc.at() >= 2 * links_.size(); }
  std::size_t arcs() const { return 2 * links_.size() + vertices_.size(); }

  VertexId tail(ArcId arc) const;             // where the arc starts
  VertexId head(ArcId arc) const;             // where it ends
  BytesPerSecond bandwidth(ArcId arc) const;  // of host memory: its type's, or the usual

  std::vector<VertexId> gpus() const;  // in rank order
  std::vector<VertexId> of_kind(VertexKind kind) const;
  std::optional<VertexId> find(std::string_view name) const;  // linear in the vertices

  friend bool operator==(const Cluster&, const Cluster&) = default;

 private:
  std::vector<Vertex> vertices_;
  std::vector<Link> links_;
  std::vector<std::string> nodes_;
  std::vector<DeviceType> device_types_;
  std::vector<Cable> cables_;
};

Cluster read_topology(const std::filesystem::path& file);
Cluster parse_topology(const std::string& text, const std::string& where);
std::string to_json(const Cluster& cluster);
void write_topology(const Cluster& cluster, const std::filesystem::path& file);  // whole or not at all

}  // namespace trainyard
