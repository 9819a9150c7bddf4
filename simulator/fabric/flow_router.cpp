#include "simulator/fabric/flow_router.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/units/format_quantity.h"
#include "simulator/fabric/hashed_way.h"
#include "simulator/fabric/host_ways.h"
#include "simulator/fabric/mix.h"

namespace trainyard::simulator {

FlowRouter::FlowRouter(Routes& routes, const RoutingPolicy& policy, std::size_t flows)
    : routes_(routes), cluster_(routes.cluster()), policy_(policy), spreader_(routes.spreader()) {
  const std::size_t vertices = cluster_.vertices().size();
  out_.resize(vertices);
  in_.resize(vertices);
  set_.reserve(flows, 8 * flows);  // a host's own links are shared; the rest is about eight a flow
  if (policy_.kind == RoutingKind::kAdaptive) {
    lanes_.emplace(cluster_);
    load_.assign(lanes_->size(), 0.0);
  }
}

FlowSet FlowRouter::take() {
  if (bounced_ + relayed_ > 0) {
    set_.notes.push_back(bounce_note());
  }
  return std::move(set_);
}

// With the bandwidth that is shared, and whether it is only the usual one.
std::string FlowRouter::bounce_note() const {
  BytesPerSecond least = cluster_.bandwidth(cluster_.memory_arc(bounce_cpus_.front()));
  BytesPerSecond most = least;
  bool assumed = false;
  for (const VertexId cpu : bounce_cpus_) {
    const BytesPerSecond rate = cluster_.bandwidth(cluster_.memory_arc(cpu));
    least = min(least, rate);
    most = max(most, rate);
    const std::size_t type = cluster_.vertex(cpu).type.at();
    assumed = assumed || type >= cluster_.device_types().size() || !cluster_.device_types()[type].memory_rate;
  }
  std::string pairs =
      bounced_ > 0 ? fmt::format("{} pairs of GPU and NIC without GPUDirect RDMA", bounced_) : std::string();
  if (relayed_ > 0) {
    pairs += fmt::format("{}{} pairs of GPUs past a CPU that doesn't pass peer traffic", pairs.empty() ? "" : " and ",
                         relayed_);
  }
  return fmt::format("{}: their data bounces through host memory, which it crosses twice; {}{} a CPU{}", pairs,
                     format_quantity(least), least == most ? "" : " to " + format_quantity(most),
                     assumed ? ", taken as 8 channels of DDR4-3200 where the cluster doesn't say" : "");
}

void FlowRouter::add(const Flow& flow) {
  if (!set_.flows().empty() && takes_the_path_of(set_.flows().back(), flow)) {
    set_.add_on_last_path(flow);
    return;
  }
  if (flow.source == flow.destination) {
    throw Error("a flow to itself", cluster_.vertex(flow.source).name, "leave it out: it crosses no link");
  }
  path_.clear();
  VertexId source = flow.source;
  if (flow.relay && *flow.relay != source) {
    path_.push_back({spread_leg(routes_.nvlink_paths(), source, *flow.relay), 1.0});
    source = *flow.relay;
  }
  if ((flow.source_nic && flow.destination_nic) || !route_inside(source, flow)) {
    route_over_network(source, flow);
  }
  set_.add(flow, path_);
}

// Queue pairs and channels of one message differ only where the policy looks at them.
bool FlowRouter::takes_the_path_of(const Flow& last, const Flow& flow) const {
  const bool one_path = policy_.kind == RoutingKind::kSpray || policy_.kind == RoutingKind::kStatic ||
                        (policy_.kind == RoutingKind::kHash && !policy_.hash_queue_pair);
  return one_path && last.source == flow.source && last.destination == flow.destination &&
         last.source_nic == flow.source_nic && last.destination_nic == flow.destination_nic && last.relay == flow.relay;
}

bool FlowRouter::route_inside(VertexId source, const Flow& flow) {
  if (source == flow.destination) {
    return true;
  }
  for (EqualCostPaths* paths : {&routes_.nvlink_paths(), &routes_.host_paths()}) {
    if (paths->touches(source) && paths->touches(flow.destination) && paths->hops(source, flow.destination)) {
      path_.push_back({paths == &routes_.host_paths() ? inner_leg(source, flow.destination)
                                                      : spread_leg(*paths, source, flow.destination),
                       1.0});
      return true;
    }
  }
  return false;
}

void FlowRouter::route_over_network(VertexId source, const Flow& flow) {
  const VertexId exit = flow.source_nic ? *flow.source_nic : nic_of(source);
  const VertexId enter = flow.destination_nic ? *flow.destination_nic : nic_of(flow.destination);
  if (exit != source) {
    path_.push_back({host_leg(source, exit, true), 1.0});
  }
  if (exit != enter) {
    if (policy_.kind == RoutingKind::kSpray) {
      spray(exit, enter);
    } else {
      walk(exit, enter, flow);
    }
  }
  if (enter != flow.destination) {
    path_.push_back({host_leg(flow.destination, enter, false), 1.0});
  }
}

VertexId FlowRouter::nic_of(VertexId device) {
  const std::optional<VertexId> nic = routes_.nearest_nic(device);
  if (!nic) {
    throw Error(fmt::format("no NIC on the {} network", to_string(routes_.network())), cluster_.vertex(device).name,
                "choose the other network, or add its NIC and cable to the cluster");
  }
  return *nic;
}

LegId FlowRouter::spread_leg(EqualCostPaths& paths, VertexId from, VertexId to) {
  if (!spreader_.spread(paths, from, to, false)) {
    throw_no_path(cluster_, from, to, &paths == &routes_.nvlink_paths() ? "NVLink" : "the links inside the host");
  }
  uses_ = spreader_.uses();
  add_memory_of(cluster_, from, uses_);
  add_memory_of(cluster_, to, uses_);
  return set_.add_leg(uses_, spreader_.latency());
}

// Inside a host, without NVLink.
LegId FlowRouter::inner_leg(VertexId from, VertexId to) {
  const HostWay way = routes_.way_between(from, to);
  if (way.bounce) {
    ++relayed_;
    bounce_cpus_.push_back(*way.bounce);
  }
  return set_.add_leg(way.uses, way.latency);
}

LegId FlowRouter::host_leg(VertexId device, VertexId nic, bool out) {
  HostLeg& last = (out ? out_ : in_)[device.at()];
  if (last.leg.value() < 0 || last.nic != nic) {
    const HostWay way = routes_.host_way(device, nic, out);
    last = {nic, set_.add_leg(way.uses, way.latency)};
    if (way.bounce) {
      ++bounced_;
      bounce_cpus_.push_back(*way.bounce);
    }
  }
  return last.leg;
}

// Along one path: the policy takes one way on at each step.
void FlowRouter::walk(VertexId exit, VertexId enter, const Flow& flow) {
  EqualCostPaths& paths = routes_.network_paths();
  hash_ = hash_of(policy_, exit, enter, flow);
  quotient_ = paths.position(enter);
  bytes_ = flow.bytes.si();
  uses_.clear();
  Seconds latency;
  for (VertexId at = exit; at != enter;) {
    const std::span<const NextHop> hops = paths.next_hops(at, enter);
    if (hops.empty()) {
      throw_no_path(cluster_, exit, enter, to_string(routes_.network()));
    }
    const NextHop hop = hops[hops.size() == 1 ? 0 : choose(hops, at)];
    if (lanes_) {
      const std::size_t lane = lanes_->first(hop.arc) + static_cast<std::size_t>(std::max<int>(hop.cable, 0));
      load_[lane] += bytes_ / lanes_->capacity(lane);
    }
    uses_.push_back({hop.arc, hop.cable, 1.0});
    latency += routes_.arc_latency()[hop.arc.at()];
    at = hop.to;
  }
  path_.push_back({set_.add_leg(uses_, latency), 1.0});
}

std::size_t FlowRouter::choose(std::span<const NextHop> hops, VertexId at) {
  const std::size_t n = hops.size();
  if (policy_.kind == RoutingKind::kStatic) {
    const auto ways = static_cast<std::int64_t>(n);
    const std::int64_t taken = quotient_ % ways;
    quotient_ /= ways;
    return static_cast<std::size_t>(taken);
  }
  if (policy_.kind == RoutingKind::kAdaptive) {
    return least_loaded(hops, at);
  }
  return hashed_hop(policy_, hash_, n, at);
}

// Ties go by the hash, else every leaf would fill the same spine first.
std::size_t FlowRouter::least_loaded(std::span<const NextHop> hops, VertexId at) const {
  const std::size_t n = hops.size();
  const std::uint64_t h = mix(hash_, static_cast<std::uint64_t>(at.value()));
  std::size_t i = static_cast<std::size_t>(((h >> 32) * n) >> 32);
  std::size_t best = i;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < n; ++k) {
    const NextHop& hop = hops[i];
    const double load = load_[lanes_->first(hop.arc) + static_cast<std::size_t>(std::max<int>(hop.cable, 0))];
    if (load < least) {
      least = load;
      best = i;
    }
    i = i + 1 == n ? 0 : i + 1;
  }
  return best;
}

// The NIC's own cables, then one leg from each switch they lead to, kept for all flows between the same switches,
// then the cables of the destination.
void FlowRouter::spray(VertexId exit, VertexId enter) {
  EqualCostPaths& paths = routes_.network_paths();
  starts_.clear();
  const std::span<const NextHop> own = paths.forwards(exit) ? std::span<const NextHop>() : paths.next_hops(exit, enter);
  if (paths.forwards(exit)) {
    starts_.push_back({exit, 1.0});
  } else {
    uses_.clear();
    Seconds latency;
    for (const NextHop& hop : own) {
      const double part = 1.0 / static_cast<double>(own.size());
      uses_.push_back({hop.arc, hop.cable, part});
      latency = max(latency, routes_.arc_latency()[hop.arc.at()]);
      starts_.push_back({hop.to, part});
    }
    path_.push_back({set_.add_leg(uses_, latency), 1.0});
  }
  if (starts_.empty()) {
    throw_no_path(cluster_, exit, enter, to_string(routes_.network()));
  }
  std::vector<ArcUse> last;
  Seconds latency;
  for (const Arrival& start : starts_) {
    const SprayedLeg& leg = sprayed_leg(start.at, enter);
    if (!set_.uses(leg.leg).empty()) {
      path_.push_back({leg.leg, start.share});
    }
    for (const Arrival& end : leg.arrivals) {
      const std::span<const NextHop> hops = paths.next_hops(end.at, enter);  // empty where `enter` forwards
      for (const NextHop& hop : hops) {
        last.push_back({hop.arc, hop.cable, start.share * end.share / static_cast<double>(hops.size())});
        latency = max(latency, routes_.arc_latency()[hop.arc.at()]);
      }
    }
  }
  if (!last.empty()) {
    path_.push_back({set_.add_leg(last, latency), 1.0});
  }
}

const FlowRouter::SprayedLeg& FlowRouter::sprayed_leg(VertexId from_switch, VertexId enter) {
  EqualCostPaths& paths = routes_.network_paths();
  // A destination that forwards is not in one class with what hangs on it: it is where the leg ends.
  const std::int32_t last = paths.forwards(enter) ? -1 - enter.value() : paths.destination_class(enter);
  const auto [found, is_new] = sprayed_.try_emplace(pair_key(from_switch.value(), last));
  if (is_new) {
    if (!spreader_.spread(paths, from_switch, enter, true)) {
      throw_no_path(cluster_, from_switch, enter, to_string(routes_.network()));
    }
    found->second = {set_.add_leg(spreader_.uses(), spreader_.latency()), spreader_.arrivals()};
  }
  return found->second;
}

}  // namespace trainyard::simulator
