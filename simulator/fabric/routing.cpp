#include "simulator/fabric/routing.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "core/error.h"
#include "simulator/fabric/flow_router.h"
#include "simulator/fabric/spread.h"

namespace trainyard::simulator {

namespace {

constexpr LinkSelection kNvlinks = {.kinds = kind_bit(LinkKind::kNvlink) | kind_bit(LinkKind::kXgmi)};
constexpr LinkSelection kHostLinks = {.kinds = kind_bit(LinkKind::kPcie) | kind_bit(LinkKind::kC2c) |
                                               kind_bit(LinkKind::kCpuInterconnect)};

constexpr std::array<std::string_view, kRoutingKinds> kKindNames = {"hash", "adaptive", "spray", "static"};

}  // namespace

std::string_view to_string(RoutingKind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

RoutingKind parse_routing_kind(std::string_view text, const std::string& where) {
  const auto found = std::find(kKindNames.begin(), kKindNames.end(), text);
  if (found == kKindNames.end()) {
    throw Error("no such routing: \"" + std::string(text) + "\"", where, "one of hash, adaptive, spray, static");
  }
  return static_cast<RoutingKind>(found - kKindNames.begin());
}

Routes::Routes(const Cluster& cluster, const ClusterGraph& graph, Network network)
    : cluster_(cluster),
      network_(network),
      network_paths_(cluster, graph, {.network = network}),
      nvlink_paths_(cluster, graph, kNvlinks),
      host_paths_(cluster, graph, kHostLinks),
      gpu_position_(cluster.vertices().size(), 0),
      spreader_(arc_latency_, cluster.vertices().size()) {
  nearest_nic_.reserve(cluster.vertices().size());
  for (std::size_t v = 0; v < cluster.vertices().size(); ++v) {
    nearest_nic_.push_back(VertexId(static_cast<std::int64_t>(v)));
  }
  arc_latency_ = arc_latencies(cluster);
  const auto all = [](VertexId) { return true; };
  host_nics_ = by_host(graph, VertexKind::kNic, [&](VertexId v) { return network_paths_.touches(v); });
  host_cpus_ = by_host(graph, VertexKind::kCpu, all);
  const Hosts gpus = by_host(graph, VertexKind::kGpu, all);
  for (std::size_t host = 0; host + 1 < gpus.first.size(); ++host) {
    for (std::uint32_t i = gpus.first[host]; i < gpus.first[host + 1]; ++i) {
      gpu_position_[gpus.devices[i].at()] = static_cast<std::int32_t>(i - gpus.first[host]);
    }
  }
}

// A host: what PCIe and its like join.
template <class Wanted>
Routes::Hosts Routes::by_host(const ClusterGraph& graph, VertexKind kind, const Wanted& wanted) const {
  Hosts hosts;
  hosts.first.assign(host_paths_.components() + 1, 0);
  std::vector<VertexId> found;
  for (std::size_t v = 0; v < cluster_.vertices().size(); ++v) {
    const VertexId id(static_cast<std::int64_t>(v));
    if (graph.kind(id) == kind && host_paths_.touches(id) && wanted(id)) {
      found.push_back(id);
      ++hosts.first[host_paths_.component(id) + 1];
    }
  }
  std::partial_sum(hosts.first.begin(), hosts.first.end(), hosts.first.begin());
  std::vector<std::uint32_t> next(hosts.first.begin(), hosts.first.end() - 1);
  hosts.devices.resize(found.size());
  for (const VertexId id : found) {
    hosts.devices[next[host_paths_.component(id)]++] = id;
  }
  return hosts;
}

const std::vector<VertexId>& Routes::nics(VertexId device) {
  const auto [entry, fresh] = nics_.try_emplace(device.value());
  if (fresh) {
    entry->second = find_nics(device);
  }
  return entry->second;
}

std::vector<VertexId> Routes::find_nics(VertexId device) {
  if (network_paths_.touches(device)) {
    return {device};
  }
  if (!host_paths_.touches(device)) {
    return {};
  }
  struct Candidate {
    std::int32_t hops;
    VertexId nic;
  };
  const std::size_t host = host_paths_.component(device);
  std::vector<Candidate> candidates;
  for (const VertexId nic : host_nics_.of(host)) {
    if (const std::optional<std::int32_t> hops = host_paths_.hops(device, nic)) {
      candidates.push_back({*hops, nic});
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.hops < b.hops; });
  // Two GPUs and two NICs on a PCIe switch: the second GPU takes the second NIC.
  for (auto first = candidates.begin(); first != candidates.end();) {
    const auto last = std::find_if(first, candidates.end(), [&](const Candidate& c) { return c.hops != first->hops; });
    std::rotate(first, first + gpu_position_[device.at()] % (last - first), last);
    first = last;
  }
  std::vector<VertexId> nics;
  nics.reserve(candidates.size());
  for (const Candidate& candidate : candidates) {
    nics.push_back(candidate.nic);
  }
  return nics;
}

std::optional<VertexId> Routes::nearest_nic(VertexId device) {
  if (network_paths_.touches(device)) {
    return device;
  }
  VertexId& kept = nearest_nic_[device.at()];
  if (kept == device) {
    const std::optional<VertexId> found = find_nearest_nic(device);
    if (!found) {
      return std::nullopt;
    }
    kept = *found;
  }
  return kept;
}

std::optional<VertexId> Routes::find_nearest_nic(VertexId device) {
  if (!host_paths_.touches(device)) {
    return std::nullopt;
  }
  const std::span<const VertexId> nics = host_nics_.of(host_paths_.component(device));
  std::int32_t least = std::numeric_limits<std::int32_t>::max();
  near_.clear();
  for (const VertexId nic : nics) {
    const std::int32_t hops = host_paths_.hops(device, nic).value_or(std::numeric_limits<std::int32_t>::max());
    if (hops < least) {
      least = hops;
      near_.clear();
    }
    if (hops == least) {
      near_.push_back(nic);
    }
  }
  if (near_.empty()) {
    return std::nullopt;
  }
  return near_[static_cast<std::size_t>(gpu_position_[device.at()]) % near_.size()];
}

std::optional<VertexId> Routes::nearest_cpu(VertexId device) {
  std::optional<VertexId> nearest;
  std::int32_t least = std::numeric_limits<std::int32_t>::max();
  for (const VertexId cpu :
       host_paths_.touches(device) ? host_cpus_.of(host_paths_.component(device)) : std::span<const VertexId>()) {
    const std::int32_t hops = host_paths_.hops(device, cpu).value_or(least);
    if (hops < least) {
      least = hops;
      nearest = cpu;
    }
  }
  return nearest;
}

FlowSet Routes::route(std::span<const Flow> flows, const RoutingPolicy& policy) {
  FlowRouter router(*this, policy, flows.size());
  for (const Flow& flow : flows) {
    router.add(flow);
  }
  return router.take();
}

}  // namespace trainyard::simulator
