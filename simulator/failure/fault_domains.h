// FaultDomains: which nodes of a job leave together, from the cluster's graph.
//
//   node          a host with GPUs; nodes of a job are those of its first ranks, in rank order
//   rack          hosts on one NVLink domain, where that spans several; else consecutive ones, as many as the failure
//                 profile has in a rack
//   leaf          hosts with a back-end NIC whose only way out is this leaf switch. With a NIC on every rail a host is
//   in
//                 as many of these as it has rails; NICs cabled to two leaves are in none
//   power domain  consecutive hosts, as many as the profile says: no graph shows power
//
// Without a graph a leaf's hosts are those of a rack.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/cluster/cluster.h"
#include "simulator/failure/failure_profile.h"

namespace trainyard::simulator {

class FaultDomains {
 public:
  // Throws Error for more ranks than the cluster has GPUs.
  FaultDomains(const Cluster& cluster, std::int64_t ranks, const FailureProfile& profile);
  FaultDomains(std::int64_t ranks, std::int64_t ranks_per_node, const FailureProfile& profile);

  std::int64_t nodes() const { return static_cast<std::int64_t>(all_.size()); }
  std::int64_t ranks() const { return static_cast<std::int64_t>(node_of_rank_.size()); }
  double gpus_per_node() const { return static_cast<double>(ranks()) / static_cast<double>(nodes()); }
  std::int32_t node_of(std::int64_t rank) const { return node_of_rank_[static_cast<std::size_t>(rank)]; }

  // How many things of a kind the job has that can fail; memory in GB is not known here.
  double exposed(Exposure exposure) const;

  // What one failure takes down: one of so many groups of nodes, equally likely.
  std::int64_t groups(FaultDomain domain) const;
  std::span<const std::int32_t> group(FaultDomain domain, std::int64_t index) const;
  double mean_nodes(FaultDomain domain) const;

  bool from_graph() const { return from_graph_; }

 private:
  using Groups = std::vector<std::vector<std::int32_t>>;
  const Groups& many(FaultDomain domain) const;
  void take_hosts(const Cluster& cluster, std::int64_t ranks);
  void take_leaves(const Cluster& cluster);
  Groups consecutive(std::int64_t size) const;

  std::vector<std::int32_t> all_;  // 0 .. nodes - 1
  std::vector<std::int32_t> node_of_rank_;
  std::vector<std::int32_t> job_node_;  // by NodeId: its place among the job's nodes, or -1
  Groups racks_;
  Groups leaves_;
  Groups power_;
  double nics_ = 0.0;
  double cables_ = 0.0;
  bool from_graph_ = false;
};

// What the front-end network gives, where a graph has it.
struct FrontEnd {
  BytesPerSecond node;     // of a node with the least; 0: none in the graph
  BytesPerSecond storage;  // of all storage servers' cables; 0: none in the graph
};
FrontEnd front_end(const Cluster& cluster);

}  // namespace trainyard::simulator
