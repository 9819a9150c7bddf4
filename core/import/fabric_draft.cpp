#include "core/import/fabric_draft.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "core/import/bus_rates.h"
#include "core/import/limits.h"
#include "core/import/node_names.h"
#include "core/import/text_lines.h"

namespace trainyard {

namespace {

VertexKind switch_kind(std::int32_t tier) {
  return tier <= 1 ? VertexKind::kLeaf : tier == 2 ? VertexKind::kSpine : VertexKind::kCore;
}

}  // namespace

void FabricDraft::check_room() const {
  if (items_.size() >= kImportVertexLimit) {
    throw Error("more than " + std::to_string(kImportVertexLimit) + " switches and endpoints", where_);
  }
}

FabricDraft::End FabricDraft::add_switch(Switch of) {
  check_room();
  items_.push_back({true, switches_.size()});
  switches_.push_back(std::move(of));
  return items_.size() - 1;
}

FabricDraft::End FabricDraft::add_endpoint(const std::string& host, const std::string& nic,
                                           std::optional<std::int32_t> rail) {
  check_room();
  items_.push_back({false, endpoints_.size()});
  endpoints_.push_back({std::nullopt, nic, rail});
  if (!host.empty()) {
    const auto [found, is_new] = host_index_.try_emplace(host, hosts_.size());
    if (is_new) {
      host_order_.push_back(hosts_.size());
      hosts_.push_back(host);
    }
    endpoints_.back().host = found->second;
  }
  return items_.size() - 1;
}

void FabricDraft::add_cables(End a, End b, BytesPerSecond rate, std::int32_t width) {
  if (cables_.size() >= kImportLinkLimit) {
    throw Error("more than " + std::to_string(kImportLinkLimit) + " cables", where_);
  }
  cables_.push_back({std::min(a, b), std::max(a, b), rate, width});
}

void FabricDraft::sort_hosts() {
  std::sort(host_order_.begin(), host_order_.end(),
            [this](std::size_t a, std::size_t b) { return natural_less(hosts_[a], hosts_[b]); });
}

// Breadth first from the endpoints.
std::vector<std::int32_t> FabricDraft::tiers() const {
  std::vector<std::vector<End>> neighbours(items_.size());
  for (const Cables& cable : cables_) {
    neighbours[cable.a].push_back(cable.b);
    neighbours[cable.b].push_back(cable.a);
  }
  constexpr std::int32_t kFar = std::numeric_limits<std::int32_t>::max();
  std::vector<std::int32_t> distance(items_.size(), kFar);
  std::vector<End> queue;
  for (End end = 0; end < items_.size(); ++end) {
    if (!items_[end].is_switch) {
      distance[end] = 0;
      queue.push_back(end);
    }
  }
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const End next : neighbours[queue[i]]) {
      if (distance[next] == kFar) {
        distance[next] = distance[queue[i]] + 1;
        queue.push_back(next);
      }
    }
  }
  std::vector<std::int32_t> tiers(switches_.size());
  for (End end = 0; end < items_.size(); ++end) {
    if (items_[end].is_switch) {
      const std::size_t at = items_[end].index;
      // One that no host reaches is a leaf without hosts.
      tiers[at] = switches_[at].tier.value_or(distance[end] == kFar ? 1 : std::min(distance[end], 3));
    }
  }
  return tiers;
}

Cluster FabricDraft::finish(std::string name) && {
  Cluster cluster;
  cluster.name = std::move(name);
  cluster.reserve(items_.size(), cables_.size());
  UniqueNames unique;
  const Parts parts;
  std::vector<VertexId> vertex(items_.size());
  place_endpoints(cluster, unique, vertex);
  place_switches(cluster, parts, unique, vertex);
  for (const Cables& cable : bundled()) {
    cluster.add_link(parts.cables(vertex[cable.a], vertex[cable.b], cable.rate, cable.width));
  }
  set_leaf_rails(cluster);
  return cluster;
}

void FabricDraft::place_endpoints(Cluster& cluster, UniqueNames& unique, std::vector<VertexId>& vertex) const {
  const DeviceTypeId nic_type = cluster.add_device_type({.name = "NIC"});
  std::vector<std::vector<End>> of_host(hosts_.size());
  std::vector<End> of_no_host;
  for (End end = 0; end < items_.size(); ++end) {
    if (!items_[end].is_switch) {
      const auto host = endpoints_[items_[end].index].host;
      (host ? of_host[*host] : of_no_host).push_back(end);
    }
  }
  for (const std::size_t host : host_order_) {
    const NodeId node = cluster.add_node(hosts_[host]);
    std::stable_sort(of_host[host].begin(), of_host[host].end(), [this](End a, End b) {
      return natural_less(endpoints_[items_[a].index].nic, endpoints_[items_[b].index].nic);
    });
    for (const End end : of_host[host]) {
      const Endpoint& endpoint = endpoints_[items_[end].index];
      const std::string name = endpoint.nic.empty() ? hosts_[host] : hosts_[host] + "/" + endpoint.nic;
      vertex[end] = cluster.add_vertex(
          {.kind = VertexKind::kNic, .name = unique.name(name), .type = nic_type, .node = node, .rail = endpoint.rail});
    }
  }
  for (const End end : of_no_host) {
    const std::string& name = endpoints_[items_[end].index].nic;
    vertex[end] = cluster.add_vertex({.kind = VertexKind::kNic, .name = unique.name(name), .type = nic_type});
  }
}

void FabricDraft::place_switches(Cluster& cluster, const Parts& parts, UniqueNames& unique,
                                 std::vector<VertexId>& vertex) const {
  const std::vector<std::int32_t> tier = tiers();
  for (std::int32_t level = 1; level <= 3; ++level) {
    for (End end = 0; end < items_.size(); ++end) {
      const std::size_t at = items_[end].index;
      if (!items_[end].is_switch || tier[at] != level) {
        continue;
      }
      if (cluster.device_types().size() > kMostDeviceTypes) {
        throw Error("has more than " + std::to_string(kMostDeviceTypes) + " types of switch", where_);
      }
      const Switch& of = switches_[at];
      DeviceType type = parts.device(of.type.empty() ? "switch" : of.type);
      type.ports = type.ports ? type.ports : of.ports;
      vertex[end] = cluster.add_vertex({.kind = switch_kind(level),
                                        .name = unique.name(of.name),
                                        .type = cluster.add_device_type(std::move(type)),
                                        .pod = of.pod});
    }
  }
}

// Parallel equal cables side by side, in the order of the cable that came first.
std::vector<FabricDraft::Cables> FabricDraft::bundled() const {
  std::map<std::tuple<End, End, double>, std::size_t> bundles;
  std::vector<Cables> merged;
  for (const Cables& cable : cables_) {
    const auto [found, is_new] = bundles.try_emplace({cable.a, cable.b, cable.rate.si()}, merged.size());
    if (is_new) {
      merged.push_back(cable);
      continue;
    }
    Cables& bundle = merged[found->second];
    if (cable.width > std::numeric_limits<std::int32_t>::max() - bundle.width) {
      throw Error("more cables between two devices than can be counted", where_);
    }
    bundle.width += cable.width;
  }
  return merged;
}

std::string unreported_rates_note() {
  return "the file gives no rates: each cable counts as 10 Gb/s until --node says what the hosts' NICs have";
}

}  // namespace trainyard
