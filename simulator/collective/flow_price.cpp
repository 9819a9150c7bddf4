#include "simulator/collective/flow_price.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "simulator/collective/flow_site.h"

namespace trainyard::simulator {

namespace {

constexpr double kTenthOverTwentieth = 1.2816 / 1.6449;  // normal quantiles of 90 % and 95 %

double combined(double floor, double device, double sharpness) {
  if (device <= 0.0 || floor <= 0.0) {
    return device + floor;
  }
  const double larger = std::max(device, floor);
  const double ratio = std::min(device, floor) / larger;
  return larger * std::pow(1.0 + std::pow(ratio, sharpness), 1.0 / sharpness);
}

double device_time(const CollectiveParts& parts) { return parts.latency + std::max(parts.wire, parts.protocol); }

// Rings or trees of one member of each node, and rings inside.
CurveShape hierarchical_shape(const CollectiveSite& site, CollectiveOp op, bool tree, const LinkFacts& facts) {
  CollectiveSite inside = site;
  inside.nodes = 1;
  inside.ranks = site.ranks_per_node();
  CollectiveSite across = site;
  across.ranks = site.nodes;
  const NcclAlgorithm between = tree ? NcclAlgorithm::kTree : NcclAlgorithm::kRing;
  CurveShape shape = curve_shape(across, op, between, facts);
  const CurveShape local = curve_shape(inside, op, NcclAlgorithm::kRing, facts);
  shape.cap = local.bandwidth;
  shape.wire_factor = bus_factor(op, site.ranks);
  shape.levels.insert(shape.levels.end(), local.levels.begin(), local.levels.end());
  return shape;
}

double percentile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// Wire seconds per byte over the seeds.
struct Spread {
  double low = 0.0;
  double median = 0.0;
  double high = 0.0;
  std::optional<ArcId> bottleneck;  // of the seed nearest to the median
};

Spread spread_of(const WireTime& wire, const WireOverhead& overhead) {
  std::vector<Drain> drains;
  for (std::size_t seed = 0; seed < std::max<std::size_t>(wire.across.size(), 1); ++seed) {
    drains.push_back(together(wire, overhead, seed));
  }
  std::stable_sort(drains.begin(), drains.end(), [](const Drain& a, const Drain& b) { return a.seconds < b.seconds; });
  std::vector<double> seconds;
  seconds.reserve(drains.size());
  for (const Drain& drain : drains) {
    seconds.push_back(drain.seconds);
  }
  return {percentile(seconds, 0.05), percentile(seconds, 0.5), percentile(seconds, 0.95),
          drains[(drains.size() - 1) / 2].bottleneck};
}

Limit limit_of(const CollectiveParts& parts) {
  const double wire = std::max(parts.wire, parts.protocol);
  if (parts.floor > device_time(parts)) {
    return Limit::kHost;
  }
  if (parts.latency > wire) {
    return Limit::kLatency;
  }
  return parts.wire < 0.5 * parts.protocol ? Limit::kProtocol : Limit::kLink;
}

}  // namespace

std::string_view to_string(Limit limit) {
  constexpr std::array<std::string_view, 4> kNames = {"host", "latency", "protocol", "link"};
  return kNames.at(static_cast<std::size_t>(limit));
}

CollectiveCurve collective_curve(const CollectiveSite& site, CollectiveOp op, FlowAlgorithm algorithm,
                                 const CollectiveModels& models) {
  CollectiveCurve result;
  if (const auto nccl = nccl_algorithm(algorithm)) {
    result.shape = curve_shape(site, op, *nccl, models.facts);
  } else {
    result.shape = hierarchical_shape(site, op, algorithm == FlowAlgorithm::kHierarchicalTree, models.facts);
  }
  result.curve = make_curve(result.shape, models.curves);
  if (site.nodes == 1) {
    result.inside = from_si<BytesPerSecond>(result.curve.bandwidth);
    return result;
  }
  const double scale = constants_for(models.curves, result.shape.curve_class(), result.shape.family()).bandwidth;
  result.across = scale * result.shape.bandwidth;
  if (site.ranks_per_node() > 1) {
    result.inside = result.shape.cap;
  }
  return result;
}

// No collective takes less than its flows do on bare links: where the curve says so, the links aren't those of its
// machines.
constexpr double kLeastOverhead = 1.0;

WireOverhead overhead_of(const WireTime& wire, const CollectiveCurve& curve) {
  WireOverhead overhead;
  const double factor = curve.curve.wire_factor;
  if (curve.inside && wire.usual_inside > 0.0) {
    overhead.inside = std::max(factor / curve.inside->si() / wire.usual_inside, kLeastOverhead);
  }
  if (curve.across && wire.usual_across > 0.0) {
    overhead.across = std::max(factor / curve.across->si() / wire.usual_across, kLeastOverhead);
  }
  return overhead;
}

CollectiveParts collective_parts(const Curve& curve, double wire_per_byte, Bytes size) {
  CollectiveParts parts;
  parts.floor = curve.floor_s;
  parts.wire = wire_per_byte * size.si();
  const double on_bus = size.si() * curve.wire_factor;
  parts.protocol = on_bus / curve.bandwidth;
  for (const CurveLevel& level : curve.levels) {
    if (level.hops <= 0.0) {
      continue;
    }
    const double per_hop = on_bus / level.hops;
    const double filled = per_hop / (per_hop + level.fill_bytes);
    const double fill = level.hops * level.fill_s * filled;
    parts.latency += level.hops * level.hop_s + filled * fill;
    parts.protocol += (1.0 - filled) * fill;
  }
  return parts;
}

Seconds collective_time(const Curve& curve, double wire_per_byte, Bytes size) {
  const CollectiveParts parts = collective_parts(curve, wire_per_byte, size);
  return from_si<Seconds>(combined(parts.floor, device_time(parts), curve.sharpness));
}

CollectivePricer::CollectivePricer(CollectiveFabric& fabric, const CollectiveModels& models,
                                   CollectiveQuestion question)
    : fabric_(fabric), models_(models), question_(std::move(question)) {
  if (question_.groups.empty()) {
    throw Error("no group", "ranks", "name the ranks: 0-7");
  }
  for (const std::vector<VertexId>& group : question_.groups) {
    layouts_.push_back(fabric_.layout(group));
  }
  site_ = site_of(fabric_.cluster(), fabric_.graph(), fabric_.domains(), layouts_.front(), question_.sharp,
                  fabric_.routes().network());
}

CollectivePricer::CollectivePricer(CollectiveFabric& fabric, const CollectiveModels& models,
                                   CollectiveQuestion question, CollectivePricer& reference)
    : CollectivePricer(fabric, models, std::move(question)) {
  reference_ = &reference;
  site_ = reference.site();
}

Applicable can_serve(const CollectiveFabric& fabric, const CollectiveSite& site, std::span<const GroupLayout> groups,
                     CollectiveOp op, FlowAlgorithm algorithm) {
  const bool reduces = algorithm == FlowAlgorithm::kCollNetDirect || algorithm == FlowAlgorithm::kCollNetChain ||
                       (algorithm == FlowAlgorithm::kNvls && groups.front().nodes.size() > 1);
  if (reduces && !site.sharp) {
    return {false, "needs switches that reduce between nodes: say that they do with --sharp"};
  }
  const bool in_node = algorithm == FlowAlgorithm::kNvls || algorithm == FlowAlgorithm::kNvlsTree;
  if (in_node && !site.nvls) {
    return {false, "needs NVSwitches that reduce: Hopper's and later"};
  }
  for (const GroupLayout& layout : groups) {
    Applicable possible = applicable(algorithm, op, layout, fabric.cluster(), fabric.graph());
    if (!possible.yes) {
      return possible;
    }
  }
  return {};
}

std::vector<FlowAlgorithm> serving_algorithms(const CollectiveFabric& fabric, const CollectiveSite& site,
                                              std::span<const GroupLayout> groups, CollectiveOp op) {
  std::vector<FlowAlgorithm> possible;
  for (int i = 0; i < kFlowAlgorithms; ++i) {
    if (can_serve(fabric, site, groups, op, static_cast<FlowAlgorithm>(i)).yes) {
      possible.push_back(static_cast<FlowAlgorithm>(i));
    }
  }
  return possible;
}

Applicable CollectivePricer::can(FlowAlgorithm algorithm) const {
  return can_serve(fabric_, site_, layouts_, question_.op, algorithm);
}

std::vector<FlowAlgorithm> CollectivePricer::algorithms() const {
  return serving_algorithms(fabric_, site_, layouts_, question_.op);
}

const WireTime& CollectivePricer::wire(FlowAlgorithm algorithm) {
  const auto found = wires_.find(algorithm);
  if (found != wires_.end()) {
    return found->second;
  }
  const WireQuestion question = {algorithm, question_.op, question_.setup, question_.routing, question_.seeds};
  return wires_.emplace(algorithm, wire_time(fabric_, layouts_, question)).first->second;
}

std::vector<PortQueue> CollectivePricer::queues(FlowAlgorithm algorithm, Bytes size) {
  return port_queues(fabric_, layouts_, {algorithm, question_.op, question_.setup, question_.routing, 1}, size);
}

const CollectiveCurve& CollectivePricer::curve(FlowAlgorithm algorithm) {
  if (reference_ != nullptr) {
    return reference_->curve(algorithm);
  }
  const auto found = curves_.find(algorithm);
  if (found != curves_.end()) {
    return found->second;
  }
  return curves_.emplace(algorithm, collective_curve(site_, question_.op, algorithm, models_)).first->second;
}

const WireOverhead& CollectivePricer::overhead(FlowAlgorithm algorithm) {
  if (reference_ != nullptr) {
    return reference_->overhead(algorithm);
  }
  const auto found = overheads_.find(algorithm);
  if (found != overheads_.end()) {
    return found->second;
  }
  return overheads_.emplace(algorithm, overhead_of(wire(algorithm), curve(algorithm))).first->second;
}

CollectivePrice CollectivePricer::price(FlowAlgorithm algorithm, Bytes size) {
  const Curve& curve = this->curve(algorithm).curve;
  const Spread wire = spread_of(this->wire(algorithm), overhead(algorithm));
  CollectivePrice price;
  price.algorithm = algorithm;
  price.size = size;
  price.time = collective_time(curve, wire.median, size);
  price.best = collective_time(curve, wire.low, size);
  price.worst = collective_time(curve, wire.high, size);
  price.parts = collective_parts(curve, wire.median, size);
  price.limit = limit_of(price.parts);
  price.bottleneck = wire.bottleneck;
  price.algorithm_bandwidth = size / price.time;
  price.bus_bandwidth = curve.wire_factor * price.algorithm_bandwidth;
  const CurvePrediction band = predict(this->curve(algorithm).shape, models_.curves, size, question_.series);
  const auto width = [](double curve_ratio, double seed_ratio) {
    return std::hypot(std::log(curve_ratio), kTenthOverTwentieth * std::log(seed_ratio));
  };
  price.high = std::exp(width(band.high / band.bus, price.time / price.best)) * price.bus_bandwidth;
  price.low = std::exp(-width(band.bus / band.low, price.worst / price.time)) * price.bus_bandwidth;
  // Nor does a measurement go above what bare links carry on a good seed.
  if (const double bare = spread_of(this->wire(algorithm), {}).low; bare > 0.0) {
    price.high = min(price.high, from_si<BytesPerSecond>(curve.wire_factor / bare));
  }
  return price;
}

std::string link_name(const Cluster& cluster, ArcId arc) {
  if (cluster.is_memory(arc)) {
    return cluster.vertex(cluster.tail(arc)).name + " memory";
  }
  return cluster.vertex(cluster.tail(arc)).name + " -> " + cluster.vertex(cluster.head(arc)).name;
}

}  // namespace trainyard::simulator
