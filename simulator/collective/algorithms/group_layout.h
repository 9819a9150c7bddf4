// GroupLayout: how the ranks of a communicator lie in the cluster: which share a node, which NIC each goes out by.
//
// A node is what links inside a host or an NVLink domain join: 8 GPUs of a DGX, 72 of a GB200 NVL72 rack, one
// PCIe box. A rail is the r-th NIC of each node: rings and trees of channel r keep to it.
//
//   NICs of a GPU = the nearest max(1, NICs of the host / GPUs of the host); GPUs as far from two NICs take turns
//   rails         = the least number of NICs that the members of a node have
//
// The head of a rail is the member nearest to its NIC; a ring of channel r enters a node there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/cluster/cluster.h"
#include "core/cluster/graph.h"
#include "simulator/fabric/routing.h"

namespace trainyard::simulator {

// What is joined inside: a number for each vertex, equal in one domain. Switches of the fabric have one each.
// Built once per cluster, O(vertices + links).
class Domains {
 public:
  explicit Domains(const Cluster& cluster);
  std::int32_t of(VertexId vertex) const { return domain_[vertex.at()]; }
  std::size_t size() const { return size_; }
  // GPUs of the GPU's host, itself included.
  std::size_t gpus_of_host(VertexId gpu) const { return gpus_of_host_[host_[gpu.at()]]; }

 private:
  std::vector<std::int32_t> domain_;
  std::vector<std::uint32_t> host_;  // by vertex; those of no host share the first place
  std::vector<std::uint32_t> gpus_of_host_;
  std::size_t size_ = 0;
};

struct NodePart {
  std::vector<VertexId> gpus;        // members, in rank order
  std::vector<std::size_t> ring;     // positions in gpus, round the ring: neighbours share a link where it can be
  std::vector<VertexId> nics;        // by rail; empty in a group of one node
  std::vector<std::size_t> heads;    // by rail: position in `ring` of the member nearest to the NIC
  std::vector<std::size_t> rail_of;  // by position in gpus: the rail that the member goes out by
  bool nvlink = false;               // joins the members, so that one can relay for another

  // The member at a place round the ring; places count on past the end.
  VertexId around(std::size_t place) const { return gpus[ring[place % ring.size()]]; }
  VertexId head(std::size_t rail) const { return around(heads[rail]); }
};

struct Place {
  std::int32_t node = 0;      // into nodes
  std::int32_t position = 0;  // into its gpus
};

struct GroupLayout {
  std::vector<NodePart> nodes;  // in the order of their first rank
  std::vector<Place> ranks;
  std::size_t rails = 0;  // 0 in a group of one node

  std::size_t size() const { return ranks.size(); }
  // Members of every node, if they have equally many; else 0.
  std::size_t ranks_per_node() const;
  std::size_t largest_node() const;
};

// Throws Error for fewer than two ranks, a GPU named twice, or a node without a NIC in a group of several.
GroupLayout lay_out(Routes& routes, const ClusterGraph& graph, const Domains& domains, std::span<const VertexId> ranks);

}  // namespace trainyard::simulator
