#include "simulator/collective/flow_wire.h"

#include <algorithm>
#include <unordered_map>

#include "core/error.h"
#include "simulator/collective/flow_site.h"
#include "simulator/fabric/busiest_lane.h"
#include "simulator/fabric/fair_share.h"
#include "simulator/fabric/seed_loads.h"

namespace trainyard::simulator {

namespace {

// So large that latencies on the way don't count beside it.
constexpr double kReferenceSize = 1e15;

double median(std::vector<double> values) {
  if (values.empty()) {
    return 0.0;
  }
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Drain drained(const FlowTimes& times) {
  Drain drain;
  const auto last = std::max_element(times.finish.begin(), times.finish.end());
  if (last != times.finish.end()) {
    drain.seconds = last->si() / kReferenceSize;
    drain.bottleneck = times.bottleneck[static_cast<std::size_t>(last - times.finish.begin())];
  }
  return drain;
}

// The busiest link of the usual node.
double usual_inside(const CollectiveFabric& fabric, const FlowTimes& times) {
  const Cluster& cluster = fabric.cluster();
  std::unordered_map<std::int32_t, double> busiest;
  for (std::size_t a = 0; a < times.carried.size(); ++a) {
    if (times.carried[a].si() > 0.0) {
      const ArcId arc(static_cast<std::int64_t>(a));
      double& most = busiest[fabric.domains().of(cluster.tail(arc))];
      most = std::max(most, (times.carried[a] / cluster.bandwidth(arc)).si());
    }
  }
  std::vector<double> seconds;
  seconds.reserve(busiest.size());
  for (const auto& [domain, time] : busiest) {
    seconds.push_back(time / kReferenceSize);
  }
  return median(std::move(seconds));
}

// The usual NIC's load over its rate, in the busier direction; by what flows say, or by what its cables carry.
double usual_across(CollectiveFabric& fabric, const CollectiveFlows& flows) {
  const Cluster& cluster = fabric.cluster();
  std::vector<double> out(cluster.vertices().size(), 0.0);  // by NIC
  std::vector<double> in(out.size(), 0.0);
  for (const Flow& flow : flows.across) {
    if (*flow.source_nic != *flow.destination_nic) {
      out[flow.source_nic->at()] += flow.bytes.si();
      in[flow.destination_nic->at()] += flow.bytes.si();
    }
  }
  for (const FixedFlow& fixed : flows.across_fixed) {
    if (cluster.vertex(fixed.flow.source).kind == VertexKind::kNic) {
      out[fixed.flow.source.at()] += fixed.flow.bytes.si();
    }
  }
  std::vector<double> seconds;
  for (std::size_t nic = 0; nic < out.size(); ++nic) {
    if (const double bytes = std::max(out[nic], in[nic]); bytes > 0.0) {
      const VertexId id(static_cast<std::int64_t>(nic));
      const double rate = nic_rate(cluster, fabric.graph(), id, fabric.routes().network()).si();
      seconds.push_back(bytes / rate / kReferenceSize);
    }
  }
  return median(std::move(seconds));
}

void add_notes(std::vector<std::string>& notes, const std::vector<std::string>& more) {
  for (const std::string& note : more) {
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) {
      notes.push_back(note);
    }
  }
}

CollectiveFlows flows_of(const CollectiveFabric& fabric, std::span<const GroupLayout> groups,
                         const WireQuestion& question) {
  FlowWriter writer(fabric.cluster(), fabric.graph(), question.setup);
  for (const GroupLayout& group : groups) {
    add_collective(writer, question.algorithm, question.op, group, kReferenceSize);
  }
  return writer.take();
}

int seeds_of(const WireQuestion& question) {
  return question.routing.kind == RoutingKind::kHash ? std::max(question.seeds, 1) : 1;
}

void solve_across(CollectiveFabric& fabric, const CollectiveFlows& flows, const WireQuestion& question,
                  WireTime& wire) {
  const int seeds = seeds_of(question);
  RoutingPolicy policy = question.routing;
  std::optional<SeedLoads> further;  // seeds, where the busiest lane says when the last flow ends
  for (auto seed = static_cast<int>(wire.across.size()); seed < seeds; ++seed) {
    fabric.begin({question.algorithm, seed + 1, seeds});
    policy.seed = question.routing.seed + static_cast<std::uint64_t>(seed);
    LastFlow last;
    if (further) {
      last = further->on_seed(policy.seed);
    } else {
      const FlowSet set = route_flows(fabric, flows.across, flows.across_fixed, policy);
      const std::optional<LastFlow> equal = last_by_busiest_lane(fabric.lanes(), set);
      last = equal ? *equal : last_to_end(fabric.lanes(), set, policy.kind != RoutingKind::kHash);
      add_notes(wire.notes, set.notes);
      if (equal && seed + 1 < seeds && flows.across_fixed.empty()) {
        further.emplace(fabric.routes(), fabric.lanes(), set, policy);
      }
    }
    wire.across.push_back({last.finish.si() / kReferenceSize, last.bottleneck});
  }
}

}  // namespace

FlowSet route_flows(CollectiveFabric& fabric, const std::vector<Flow>& flows, const std::vector<FixedFlow>& fixed,
                    const RoutingPolicy& policy) {
  FlowSet set = fabric.routes().route(flows, policy);
  for (const FixedFlow& flow : fixed) {
    const LegUse leg = {set.add_leg(flow.uses, Seconds()), 1.0};
    set.add(flow.flow, std::span<const LegUse>(&leg, 1));
  }
  return set;
}

WireTime wire_time(CollectiveFabric& fabric, std::span<const GroupLayout> groups, const WireQuestion& question) {
  fabric.begin({question.algorithm, 0, seeds_of(question)});
  const CollectiveFlows flows = flows_of(fabric, groups, question);
  WireTime wire;
  wire.notes = flows.notes;
  if (!flows.inside.empty() || !flows.inside_fixed.empty()) {
    const FlowSet set = route_flows(fabric, flows.inside, flows.inside_fixed, question.routing);
    const FlowTimes times = run_flows(fabric.cluster(), set);
    wire.inside = drained(times);
    wire.usual_inside = usual_inside(fabric, times);
    add_notes(wire.notes, set.notes);
  }
  if (!flows.across.empty() || !flows.across_fixed.empty()) {
    wire.usual_across = usual_across(fabric, flows);
    solve_across(fabric, flows, question, wire);
  }
  return wire;
}

void solve_more_seeds(CollectiveFabric& fabric, std::span<const GroupLayout> groups, const WireQuestion& question,
                      WireTime& wire) {
  if (!wire.across.empty() && static_cast<int>(wire.across.size()) < seeds_of(question)) {
    solve_across(fabric, flows_of(fabric, groups, question), question, wire);
  }
}

std::vector<PortQueue> port_queues(CollectiveFabric& fabric, std::span<const GroupLayout> groups,
                                   const WireQuestion& question, Bytes size) {
  FlowWriter writer(fabric.cluster(), fabric.graph(), question.setup);
  for (const GroupLayout& group : groups) {
    add_collective(writer, question.algorithm, question.op, group, size.si());
  }
  const CollectiveFlows flows = writer.take();
  const FlowSet set = route_flows(fabric, flows.across, flows.across_fixed, question.routing);
  QueueOptions options;
  options.in_flight = kChannelBuffer / static_cast<double>(question.setup.queue_pairs);
  return find_queues(fabric.cluster(), set, options);
}

Drain together(const WireTime& wire, const WireOverhead& overhead, std::size_t seed) {
  Drain inside = wire.inside;
  inside.seconds *= overhead.inside;
  if (seed >= wire.across.size()) {
    return inside;
  }
  Drain across = wire.across[seed];
  across.seconds *= overhead.across;
  return inside.seconds > across.seconds ? inside : across;
}

}  // namespace trainyard::simulator
