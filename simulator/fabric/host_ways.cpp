#include "simulator/fabric/host_ways.h"

#include <fmt/format.h>

#include "core/cluster/distance.h"
#include "core/error.h"
#include "simulator/fabric/routing.h"

namespace trainyard::simulator {

namespace {

// On the way between GPU and NIC: the CPU whose memory holds the data in between, where GPUDirect RDMA can't be used.
std::optional<VertexId> cpu_of_bounce(Routes& routes, VertexId device, bool nic_reads_gpu_memory,
                                      std::span<const ArcUse> way) {
  const Cluster& cluster = routes.cluster();
  if (cluster.vertex(device).kind != VertexKind::kGpu) {
    return std::nullopt;
  }
  std::optional<VertexId> cpu;
  bool coherent = false;
  for (const ArcUse& use : way) {
    const Link& link = cluster.link(link_of(use.arc));
    const VertexId passed = is_reverse(use.arc) ? link.from : link.to;
    coherent = coherent || link.kind == LinkKind::kC2c;
    if (!cpu && cluster.vertex(passed).kind == VertexKind::kCpu) {
      cpu = passed;
    }
  }
  const std::size_t gpu_type = cluster.vertex(device).type.at();
  const std::vector<DeviceType>& types = cluster.device_types();
  if (nic_reads_gpu_memory && (gpu_type >= types.size() || types[gpu_type].gpudirect.value_or(true))) {
    return cpu && !coherent ? cpu : std::nullopt;
  }
  return cpu ? cpu : routes.nearest_cpu(device);
}

// On the way between two GPUs: the first CPU, where it doesn't let them read each other's memory. Where there are
// several ways of equal length the first one stands for all.
std::optional<VertexId> cpu_between(const Cluster& cluster, std::span<const ArcUse> way) {
  for (const ArcUse& use : way) {
    const Link& link = cluster.link(link_of(use.arc));
    if (link.kind == LinkKind::kC2c) {
      return std::nullopt;
    }
    const VertexId reached = is_reverse(use.arc) ? link.from : link.to;
    if (cluster.vertex(reached).kind == VertexKind::kCpu) {
      const std::size_t type = cluster.vertex(reached).type.at();
      const bool passes = type < cluster.device_types().size() && passes_peer_traffic(cluster.device_types()[type]);
      return passes ? std::nullopt : std::optional(reached);
    }
  }
  return std::nullopt;
}

}  // namespace

HostWay HostWays::find(Routes& routes, VertexId device, VertexId nic, bool out) {
  if (kept_.empty()) {
    kept_.resize(2 * routes.cluster().vertices().size());
    for (const DeviceType& type : routes.cluster().device_types()) {
      reads_gpu_memory_.push_back(has_gpudirect(type) ? 1 : 0);
    }
  }
  Kept& kept = kept_[2 * device.at() + (out ? 1 : 0)];
  if (kept.count == 0) {
    const HostWay way = make(routes, device, nic, out);
    kept = {nic, static_cast<std::uint32_t>(uses_.size()), static_cast<std::uint32_t>(way.uses.size()), way.latency,
            way.bounce};
    uses_.insert(uses_.end(), way.uses.begin(), way.uses.end());
  }
  if (kept.nic != nic) {
    return make(routes, device, nic, out);
  }
  return {{uses_.data() + kept.first, kept.count}, kept.latency, kept.bounce};
}

HostWay HostWays::make(Routes& routes, VertexId device, VertexId nic, bool out) {
  EqualCostPaths& paths = routes.host_paths();
  Spreader& spreader = routes.spreader();
  const VertexId from = out ? device : nic;
  const VertexId to = out ? nic : device;
  if (!spreader.spread(paths, from, to, false)) {
    throw_no_path(routes.cluster(), from, to, "the links inside the host");
  }
  made_ = spreader.uses();
  Seconds latency = spreader.latency();
  const std::size_t nic_type = routes.cluster().vertex(nic).type.at();
  const bool reads = nic_type >= reads_gpu_memory_.size() || reads_gpu_memory_[nic_type] != 0;
  if (const std::optional<VertexId> cpu = cpu_of_bounce(routes, device, reads, made_)) {
    return through(routes, from, *cpu, to);
  }
  add_memory_of(routes.cluster(), device, made_);
  return {made_, latency, std::nullopt};
}

// Written to the CPU's memory and read from it.
HostWay HostWays::through(Routes& routes, VertexId from, VertexId cpu, VertexId to) {
  EqualCostPaths& paths = routes.host_paths();
  Spreader& spreader = routes.spreader();
  spreader.spread(paths, from, cpu, false);
  made_ = spreader.uses();
  Seconds latency = spreader.latency();
  made_.push_back({routes.cluster().memory_arc(cpu), kAllCables, 2.0});
  spreader.spread(paths, cpu, to, false);
  made_.insert(made_.end(), spreader.uses().begin(), spreader.uses().end());
  latency += spreader.latency();
  return {made_, latency, cpu};
}

HostWay HostWays::between(Routes& routes, VertexId from, VertexId to) {
  const Cluster& cluster = routes.cluster();
  Spreader& spreader = routes.spreader();
  if (!spreader.spread(routes.host_paths(), from, to, false)) {
    throw_no_path(cluster, from, to, "the links inside the host");
  }
  const bool peers = cluster.vertex(from).kind == VertexKind::kGpu && cluster.vertex(to).kind == VertexKind::kGpu;
  const std::optional<VertexId> cpu = peers ? cpu_between(cluster, spreader.uses()) : std::nullopt;
  if (cpu) {
    return through(routes, from, *cpu, to);
  }
  made_ = spreader.uses();
  add_memory_of(cluster, from, made_);
  add_memory_of(cluster, to, made_);
  return {made_, spreader.latency(), std::nullopt};
}

void add_memory_of(const Cluster& cluster, VertexId end, std::vector<ArcUse>& uses) {
  if (cluster.vertex(end).kind == VertexKind::kCpu) {
    uses.push_back({cluster.memory_arc(end), kAllCables, 1.0});
  }
}

void throw_no_path(const Cluster& cluster, VertexId from, VertexId to, std::string_view over) {
  throw Error(fmt::format("no path over {}", over), cluster.vertex(from).name + " - " + cluster.vertex(to).name,
              "trainyard topology shows which parts of the cluster hang together");
}

}  // namespace trainyard::simulator
