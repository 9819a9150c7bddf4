#include "simulator/collective/link_load.h"

#include <algorithm>

namespace trainyard::simulator {

namespace {

void add_set(const Lanes& lanes, const FlowSet& set, std::vector<double>& by_lane) {
  for (std::size_t path = 0; path < set.paths(); ++path) {
    for (const LegUse& leg : set.path(path)) {
      const double bytes = set.bytes_of_path(path).si() * leg.share;
      for (const ArcUse& use : set.uses(leg.leg)) {
        const std::size_t first = lanes.first(use.arc);
        const std::size_t count = lanes.count(use.arc);
        if (use.cable != kAllCables || count == 1) {
          by_lane[first + (count == 1 ? 0 : static_cast<std::size_t>(use.cable))] += bytes * use.weight;
          continue;
        }
        for (std::size_t lane = first; lane < first + count; ++lane) {
          by_lane[lane] += bytes * use.weight / static_cast<double>(count);
        }
      }
    }
  }
}

void add_notes(std::vector<std::string>& notes, const std::vector<std::string>& more) {
  for (const std::string& note : more) {
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) {
      notes.push_back(note);
    }
  }
}

}  // namespace

void LinkLoads::add(const LinkLoads& other, double factor) {
  carried.resize(std::max(carried.size(), other.carried.size()));
  fullest.resize(carried.size());
  for (std::size_t arc = 0; arc < other.carried.size(); ++arc) {
    carried[arc] += factor * other.carried[arc];
    fullest[arc] += factor * other.fullest[arc];
  }
  add_notes(notes, other.notes);
}

double LinkLoads::busy(const Cluster& cluster, ArcId arc, Seconds time) const {
  return time.si() > 0.0 && arc.at() < fullest.size() ? (fullest[arc.at()] / cluster.bandwidth(arc)) / time : 0.0;
}

LinkLoads link_loads(CollectiveFabric& fabric, std::span<const GroupLayout> groups, const WireQuestion& question,
                     Bytes size) {
  FlowWriter writer(fabric.cluster(), fabric.graph(), question.setup);
  for (const GroupLayout& group : groups) {
    add_collective(writer, question.algorithm, question.op, group, size.si());
  }
  const CollectiveFlows flows = writer.take();
  const Lanes& lanes = fabric.lanes();
  std::vector<double> by_lane(lanes.size(), 0.0);
  LinkLoads loads;
  loads.notes = flows.notes;
  const FlowSet inside = route_flows(fabric, flows.inside, flows.inside_fixed, question.routing);
  const FlowSet across = route_flows(fabric, flows.across, flows.across_fixed, question.routing);
  for (const FlowSet* set : {&inside, &across}) {
    add_set(lanes, *set, by_lane);
    add_notes(loads.notes, set->notes);
  }
  const std::size_t arcs = fabric.cluster().arcs();
  loads.carried.resize(arcs);
  loads.fullest.resize(arcs);
  for (std::size_t a = 0; a < arcs; ++a) {
    const ArcId arc(static_cast<std::int64_t>(a));
    const auto first = by_lane.begin() + static_cast<std::ptrdiff_t>(lanes.first(arc));
    const auto end = first + static_cast<std::ptrdiff_t>(lanes.count(arc));
    double sum = 0.0;
    double most = 0.0;
    for (auto lane = first; lane != end; ++lane) {
      sum += *lane;
      most = std::max(most, *lane);
    }
    loads.carried[a] = from_si<Bytes>(sum);
    loads.fullest[a] = from_si<Bytes>(most * static_cast<double>(end - first));
  }
  return loads;
}

LinkLoads link_loads(CollectiveFabric& fabric, const CollectivePricer& pricer, FlowAlgorithm algorithm, Bytes size) {
  const CollectiveQuestion& question = pricer.question();
  return link_loads(fabric, pricer.groups(), {algorithm, question.op, question.setup, question.routing, 1}, size);
}

}  // namespace trainyard::simulator
