// The price of a collective on a cluster: a measured curve whose wire time comes from the cluster's flows.
//
//   t(S) = (H^p + device^p)^(1/p)                                       curve.h: H, D, a, c, x0, B, F, p
//   device = sum_l D_l a_l + sum_l u_l f_l + max(S w, S F/B + sum_l (1 - u_l) f_l)
//   f_l = D_l c_l u_l,  u_l = x_l / (x_l + x0_l),  x_l = S F / D_l
//
// w: wire seconds per byte by the flows (flow_wire.h). The fill f is a latency for large messages and a lower rate of
// the protocol for small ones: its part 1 - u acts as a cap on the rate before links are shared, so that congestion
// slows only what would otherwise have been faster; its part u adds up. Where nothing is shared, w = F/B and t is the
// curve's own. H counts once, and congestion touches wire time only.
//
// Interval: 4 of 5 measurements are expected between low and high:
//   log(high/bus) = sqrt(h^2 + (z log(best seed/median))^2), and so for low, with h of the curve's class
//   (curve_table.h); best and worst seeds are the 5th and 95th percentile, z = 1.28/1.64 makes them 10th and 90th.
//
// Neither t nor the interval's top is better than the flows on bare links: bus <= high <= F / w0, w0 without overheads.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "simulator/collective/collective_models.h"
#include "simulator/collective/collective_site.h"
#include "simulator/collective/curve.h"
#include "simulator/collective/flow_wire.h"

namespace trainyard::simulator {

// A curve and what its bandwidth is made of: of links inside a node, and between nodes. On the bus.
struct CollectiveCurve {
  CurveShape shape;
  Curve curve;
  std::optional<BytesPerSecond> inside;
  std::optional<BytesPerSecond> across;
};
CollectiveCurve collective_curve(const CollectiveSite& site, CollectiveOp op, FlowAlgorithm algorithm,
                                 const CollectiveModels& models);

WireOverhead overhead_of(const WireTime& wire, const CollectiveCurve& curve);

// The time's parts, in seconds; they don't add up to t where the host's floor hides behind the device.
struct CollectiveParts {
  double floor = 0.0;     // H
  double latency = 0.0;   // sum D a + u f
  double wire = 0.0;      // S w
  double protocol = 0.0;  // S F/B + (1 - u) f: what the protocol would take on links of its own
};
CollectiveParts collective_parts(const Curve& curve, double wire_per_byte, Bytes size);
Seconds collective_time(const Curve& curve, double wire_per_byte, Bytes size);

enum class Limit : std::uint8_t { kHost, kLatency, kProtocol, kLink };
std::string_view to_string(Limit limit);

struct CollectivePrice {
  FlowAlgorithm algorithm = FlowAlgorithm::kRing;
  Bytes size;
  Seconds time;  // over the seeds: median, 5th and 95th percentile
  Seconds best;
  Seconds worst;
  BytesPerSecond algorithm_bandwidth;  // S / t
  BytesPerSecond bus_bandwidth;        // S F / t
  BytesPerSecond low;                  // 80 % interval of the bus bandwidth
  BytesPerSecond high;
  CollectiveParts parts;  // of the median
  Limit limit = Limit::kLink;
  std::optional<ArcId> bottleneck;  // link that holds the wire time
};

struct CollectiveQuestion {
  CollectiveOp op = CollectiveOp::kAllReduce;
  std::vector<std::vector<VertexId>> groups;  // all at once
  FlowSetup setup;
  RoutingPolicy routing;
  int seeds = 1;
  bool sharp = false;  // the fabric's switches may reduce
  std::string series;  // measured series that it belongs to, for the interval (flow_anchor.h); usually none
};

// Whether the algorithm can serve the operation on all these groups. The site says whether switches reduce: the
// fabric's (sharp), the nodes' (nvls).
Applicable can_serve(const CollectiveFabric& fabric, const CollectiveSite& site, std::span<const GroupLayout> groups,
                     CollectiveOp op, FlowAlgorithm algorithm);
std::vector<FlowAlgorithm> serving_algorithms(const CollectiveFabric& fabric, const CollectiveSite& site,
                                              std::span<const GroupLayout> groups, CollectiveOp op);

// Prices every algorithm on one cluster. Wire times are solved when first asked for and kept.
class CollectivePricer {
 public:
  // Cluster, fabric and models must outlive it. Throws Error for groups that can't be.
  CollectivePricer(CollectiveFabric& fabric, const CollectiveModels& models, CollectiveQuestion question);
  // The same question changed, or on a changed cluster: curves and overheads are those of `reference`, so that only
  // what the change does to flows is seen.
  CollectivePricer(CollectiveFabric& fabric, const CollectiveModels& models, CollectiveQuestion question,
                   CollectivePricer& reference);

  const CollectiveSite& site() const { return site_; }  // of the first group
  const CollectiveQuestion& question() const { return question_; }
  const std::vector<GroupLayout>& groups() const { return layouts_; }
  std::vector<FlowAlgorithm> algorithms() const;  // that can serve the operation; switches' only with `sharp`
  Applicable can(FlowAlgorithm algorithm) const;

  CollectivePrice price(FlowAlgorithm algorithm, Bytes size);
  const WireTime& wire(FlowAlgorithm algorithm);
  std::vector<PortQueue> queues(FlowAlgorithm algorithm, Bytes size);  // greatest need first
  const CollectiveCurve& curve(FlowAlgorithm algorithm);
  const WireOverhead& overhead(FlowAlgorithm algorithm);

 private:
  CollectiveFabric& fabric_;
  const CollectiveModels& models_;
  CollectiveQuestion question_;
  CollectivePricer* reference_ = nullptr;
  std::vector<GroupLayout> layouts_;
  CollectiveSite site_;
  std::map<FlowAlgorithm, WireTime> wires_;
  std::map<FlowAlgorithm, CollectiveCurve> curves_;
  std::map<FlowAlgorithm, WireOverhead> overheads_;
};

// "node0/nic3 -> leaf3", "node0/cpu0 memory"
std::string link_name(const Cluster& cluster, ArcId arc);

}  // namespace trainyard::simulator
