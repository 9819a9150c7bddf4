#include "simulator/failure/fault_domains.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/cluster/graph.h"
#include "core/error.h"

namespace trainyard::simulator {

namespace {

bool on(const Cluster& cluster, const Hop& hop, Network network) {
  return cluster.link(link_of(hop.arc)).network == network;
}

}  // namespace

FaultDomains::FaultDomains(const Cluster& cluster, std::int64_t ranks, const FailureProfile& profile)
    : from_graph_(true) {
  take_hosts(cluster, ranks);
  take_leaves(cluster);
  if (racks_.empty()) {
    racks_ = consecutive(profile.nodes_per_rack);
  }
  if (leaves_.empty()) {
    leaves_ = racks_;
  }
  power_ = consecutive(profile.nodes_per_power_domain);
}

FaultDomains::FaultDomains(std::int64_t ranks, std::int64_t ranks_per_node, const FailureProfile& profile) {
  check(ranks >= 1 && ranks_per_node >= 1, "a job has ranks on nodes");
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    node_of_rank_.push_back(static_cast<std::int32_t>(rank / ranks_per_node));
  }
  for (std::int32_t node = 0; node <= node_of_rank_.back(); ++node) {
    all_.push_back(node);
  }
  racks_ = consecutive(profile.nodes_per_rack);
  leaves_ = racks_;
  power_ = consecutive(profile.nodes_per_power_domain);
  nics_ = cables_ = static_cast<double>(ranks);
}

// Hosts in rank order, and racks where an NVSwitch outside hosts joins several.
void FaultDomains::take_hosts(const Cluster& cluster, std::int64_t ranks) {
  const std::vector<VertexId> gpus = cluster.gpus();
  if (ranks > static_cast<std::int64_t>(gpus.size())) {
    throw Error(fmt::format("{} ranks are more than its {} GPUs", ranks, gpus.size()),
                cluster.name.empty() ? "the cluster" : cluster.name, "a larger cluster, or fewer ranks");
  }
  const ClusterGraph graph(cluster);
  job_node_.assign(cluster.nodes().size(), -1);
  std::map<VertexId, std::set<std::int32_t>> domains;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank) {
    const VertexId gpu = gpus[rank];
    const std::optional<NodeId> host = cluster.vertex(gpu).node;
    std::int32_t node = host ? job_node_[host->at()] : -1;
    if (node < 0) {  // a GPU outside any host is one of its own
      node = static_cast<std::int32_t>(all_.size());
      all_.push_back(node);
      if (host) {
        job_node_[host->at()] = node;
      }
    }
    node_of_rank_.push_back(node);
    for (const Hop& hop : graph.out(gpu)) {
      if (graph.kind(hop.to) == VertexKind::kNvswitch) {
        domains[hop.to].insert(node);
      }
    }
  }
  for (const auto& [nvswitch, nodes] : domains) {
    if (nodes.size() > 1) {
      racks_.emplace_back(nodes.begin(), nodes.end());
    }
  }
  std::sort(racks_.begin(), racks_.end());
  racks_.erase(std::unique(racks_.begin(), racks_.end()), racks_.end());
}

void FaultDomains::take_leaves(const Cluster& cluster) {
  const ClusterGraph graph(cluster);
  std::map<VertexId, std::set<std::int32_t>> below;
  for (const VertexId nic : cluster.of_kind(VertexKind::kNic)) {
    const std::optional<NodeId> host = cluster.vertex(nic).node;
    if (!host || job_node_[host->at()] < 0) {
      continue;
    }
    std::set<VertexId> leaves;
    for (const Hop& hop : graph.out(nic)) {
      if (graph.kind(hop.to) == VertexKind::kLeaf && on(cluster, hop, Network::kBackend)) {
        leaves.insert(hop.to);
        cables_ += cluster.link(link_of(hop.arc)).width;
      }
    }
    nics_ += leaves.empty() ? 0.0 : 1.0;
    for (const VertexId leaf : leaves) {
      std::set<std::int32_t>& nodes = below[leaf];
      if (leaves.size() == 1) {
        nodes.insert(job_node_[host->at()]);
      }
    }
  }
  for (const auto& [leaf, nodes] : below) {
    leaves_.emplace_back(nodes.begin(), nodes.end());
  }
}

FaultDomains::Groups FaultDomains::consecutive(std::int64_t size) const {
  Groups groups;
  for (const std::int32_t node : all_) {
    if (node % size == 0) {
      groups.emplace_back();
    }
    groups.back().push_back(node);
  }
  return groups;
}

double FaultDomains::exposed(Exposure exposure) const {
  switch (exposure) {
    case Exposure::kNode:
      return static_cast<double>(nodes());
    case Exposure::kGpu:
      return static_cast<double>(ranks());
    case Exposure::kNic:
      return nics_;
    case Exposure::kCable:
      return cables_;
    case Exposure::kSwitch:
      return static_cast<double>(leaves_.size());
    case Exposure::kRack:
      return static_cast<double>(racks_.size());
    case Exposure::kJob:
      return 1.0;
    case Exposure::kGigabyte:
      break;
  }
  check(false, "memory isn't a thing of the graph");
  return 0.0;
}

const FaultDomains::Groups& FaultDomains::many(FaultDomain domain) const {
  return domain == FaultDomain::kRack ? racks_ : domain == FaultDomain::kLeaf ? leaves_ : power_;
}

std::int64_t FaultDomains::groups(FaultDomain domain) const {
  switch (domain) {
    case FaultDomain::kProcess:
    case FaultDomain::kGpu:
    case FaultDomain::kNode:
      return nodes();
    case FaultDomain::kJob:
      return 1;
    default:
      return static_cast<std::int64_t>(many(domain).size());
  }
}

std::span<const std::int32_t> FaultDomains::group(FaultDomain domain, std::int64_t index) const {
  const auto at = static_cast<std::size_t>(index);
  switch (domain) {
    case FaultDomain::kProcess:
      return {};
    case FaultDomain::kGpu:
    case FaultDomain::kNode:
      return std::span(all_).subspan(at, 1);
    case FaultDomain::kJob:
      return all_;
    default:
      return many(domain)[at];
  }
}

double FaultDomains::mean_nodes(FaultDomain domain) const {
  double sum = 0.0;
  const std::int64_t count = groups(domain);
  for (std::int64_t i = 0; i < count; ++i) {
    sum += static_cast<double>(group(domain, i).size());
  }
  return sum / static_cast<double>(count);
}

FrontEnd front_end(const Cluster& cluster) {
  const ClusterGraph graph(cluster);
  std::map<NodeId, BytesPerSecond> nodes;
  FrontEnd result;
  for (std::size_t i = 0; i < cluster.vertices().size(); ++i) {
    const VertexId id(static_cast<std::int64_t>(i));
    const Vertex& vertex = cluster.vertex(id);
    if (vertex.kind != VertexKind::kNic && vertex.kind != VertexKind::kStorage) {
      continue;
    }
    for (const Hop& hop : graph.out(id)) {
      if (on(cluster, hop, Network::kFrontend) && is_fabric_switch(graph.kind(hop.to))) {
        (vertex.kind == VertexKind::kStorage || !vertex.node ? result.storage : nodes[*vertex.node]) +=
            cluster.bandwidth(hop.arc);
      }
    }
  }
  for (const auto& [node, rate] : nodes) {
    result.node = result.node == BytesPerSecond() ? rate : min(result.node, rate);
  }
  return result;
}

}  // namespace trainyard::simulator
