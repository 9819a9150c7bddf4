// EqualCostPaths: all shortest paths over one kind of link, as next hops. Three serve a cluster: the cables of a
// network, the NVLinks, and what else is inside hosts.
//
//   hops(v, d) = links on a shortest path;  next hops of v to d = links to a neighbour u with hops(u, d) = hops(v, d) -
//   1
//
// Switches forward (fabric switches, NVSwitches, PCIe switches, CPUs); an endpoint (GPU, NIC, storage) forwards only
// where it is linked to another endpoint directly, as in a torus of NICs or NVLinks without a switch. Destinations
// linked to the same switches share one table of distances: a 16,384-GPU fabric has 512 tables of 1,280 switches, and
// they are filled 64 at a time, one bit each, when first asked for (Then et al. 2014, "The more the merrier:
// multi-source breadth-first search").
//
// Keeps ids, not bandwidths. Not for two threads at once: asking fills tables.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/cluster/cluster.h"
#include "core/cluster/graph.h"

namespace trainyard::simulator {

// One way on: a cable of a bundle, or a whole link (cable absent: kAllCables).
struct NextHop {
  ArcId arc;
  std::int16_t cable = -1;
  float width = 1.0F;  // its part of the links side by side: NVLinks or PCIe lanes of a whole link, 1 for a cable
  VertexId to;
};

struct LinkSelection {
  std::uint32_t kinds = ~std::uint32_t{0};  // bit by LinkKind
  std::optional<Network> network;           // absent: any
  bool operator()(const Link& link) const {
    return (kinds >> static_cast<unsigned>(link.kind) & 1U) != 0 && (!network || link.network == *network);
  }
};
constexpr std::uint32_t kind_bit(LinkKind kind) { return std::uint32_t{1} << static_cast<unsigned>(kind); }

class EqualCostPaths {
 public:
  EqualCostPaths(const Cluster& cluster, const ClusterGraph& graph, const LinkSelection& selected);

  // Whether any selected link ends at the vertex.
  bool touches(VertexId vertex) const { return component_[vertex.at()] >= 0; }
  // Links between; absent where there is no path.
  std::optional<std::int32_t> hops(VertexId from, VertexId to);
  // In the order of the links; empty where there is no path, or at the destination. Good until the next call.
  std::span<const NextHop> next_hops(VertexId at, VertexId destination);

  // Destinations with the same number are reached alike until the last link.
  std::int32_t destination_class(VertexId destination) const { return class_of_[destination.at()]; }
  // Position among endpoints in the order of their switches: what static routing spreads by.
  std::int32_t position(VertexId endpoint) const { return position_[endpoint.at()]; }
  // Vertices that hang together over selected links.
  std::size_t components() const { return component_first_.size() - 1; }
  std::size_t component(VertexId vertex) const { return static_cast<std::size_t>(component_[vertex.at()]); }
  bool forwards(VertexId vertex) const { return transit_[vertex.at()] >= 0; }

 private:
  static constexpr std::uint16_t kUnreachable = std::numeric_limits<std::uint16_t>::max();
  struct Group {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };

  // What routing asks of a link, side by side: clusters have some 100,000.
  struct Selected {
    std::int32_t width = 0;  // 0: not selected
    bool bundle = false;
  };

  void find_transit(const Cluster& cluster, const ClusterGraph& graph);
  void find_components(const Cluster& cluster);
  void number_transit();
  void list_hops(const ClusterGraph& graph);
  void find_classes();
  std::span<const VertexId> switches_of(std::int32_t destination_class) const;

  std::span<const NextHop> links_of(VertexId vertex) const;
  // Where the table of a class starts in distance_ and group_; filled if need be.
  std::size_t table(std::int32_t destination_class);
  void fill_tables(std::int32_t first_class, std::int32_t last_class);
  std::uint16_t distance(VertexId transit, std::int32_t destination_class);
  std::int32_t make_group(VertexId transit, std::int32_t destination_class);

  std::vector<Selected> selected_;          // by link
  std::vector<std::int32_t> component_;     // by vertex; -1 without a selected link
  std::vector<std::int32_t> transit_;       // by vertex: position among transit vertices, component by component; or -1
  std::vector<VertexId> transit_vertices_;  // component by component
  std::vector<std::int32_t> component_first_;  // into transit_vertices_
  std::vector<std::uint32_t> links_first_;     // by vertex, into links_: selected links to transit vertices
  std::vector<NextHop> links_;
  std::vector<std::int32_t> class_of_;    // by vertex; -1 where it can't be reached
  std::vector<std::int32_t> position_;    // by vertex
  std::vector<VertexId> class_switches_;  // class by class
  std::vector<std::uint32_t> class_first_;
  // Tables by transit vertex of the class's component, one after the other as they are filled.
  std::vector<std::int64_t> table_first_;  // by class; -1 not filled
  std::vector<std::uint16_t> distance_;    // to the nearest switch of the class
  std::vector<std::int32_t> group_;        // next hops: a position in groups_; -1 not asked yet
  std::vector<std::int32_t> last_group_;   // by transit vertex: most destinations share the way up
  std::vector<Group> groups_;
  std::vector<NextHop> members_;
  std::vector<NextHop> scratch_;
};

}  // namespace trainyard::simulator
