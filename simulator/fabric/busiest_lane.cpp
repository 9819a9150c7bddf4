#include "simulator/fabric/busiest_lane.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "simulator/fabric/lanes_of_use.h"

namespace trainyard::simulator {

namespace {

constexpr double kTolerance = 1e-9;  // relative: as the solver's

// Numbers of coupled groups: 0 to this less one. They are given one after the other.
std::size_t groups_of(const FlowSet& flows) {
  std::size_t count = 0;
  for (const Flow& flow : flows.flows()) {
    count = std::max(count, flow.coupled_group ? static_cast<std::size_t>(*flow.coupled_group) + 1 : 0);
  }
  return count;
}

// Whether all commodities have as many bytes for their weight, and no caps.
bool equal(const FlowSet& flows) {
  std::vector<std::pair<double, double>> largest(groups_of(flows));  // of a coupled group: bytes, and for its weight
  const double expected = flows.flows().front().bytes.si() / flows.flows().front().weight;
  const auto as_expected = [&](double share) { return std::abs(share - expected) <= kTolerance * expected; };
  bool alone_equal = expected > 0.0;
  for (const Flow& flow : flows.flows()) {
    const double bytes = flow.bytes.si();
    if (flow.rate_cap) {
      return false;
    }
    if (!flow.coupled_group) {
      alone_equal = alone_equal && as_expected(bytes / flow.weight);
    } else if (auto& known = largest[static_cast<std::size_t>(*flow.coupled_group)]; bytes > known.first) {
      known = {bytes, bytes / flow.weight};
    }
  }
  return alone_equal && std::all_of(largest.begin(), largest.end(),
                                    [&](const auto& group) { return group.first <= 0.0 || as_expected(group.second); });
}

std::vector<double> seconds_of_lanes(const Lanes& lanes, const FlowSet& flows) {
  std::vector<double> by_leg(flows.legs(), 0.0);
  for (std::size_t p = 0; p < flows.paths(); ++p) {
    for (const LegUse& leg : flows.path(p)) {
      by_leg[leg.leg.at()] += flows.bytes_of_path(p).si() * leg.share;
    }
  }
  std::vector<double> seconds(lanes.size(), 0.0);
  for (std::size_t l = 0; l < by_leg.size(); ++l) {
    for (const ArcUse& use : flows.uses(LegId(static_cast<std::int64_t>(l)))) {
      for_each_lane(lanes, use, [&](std::size_t lane, double weight) { seconds[lane] += by_leg[l] * weight; });
    }
  }
  for (std::size_t lane = 0; lane < seconds.size(); ++lane) {
    seconds[lane] = seconds[lane] > 0.0 ? seconds[lane] / lanes.capacity(lane) : 0.0;
  }
  return seconds;
}

// The first arc of each leg that is as busy as the busiest; -1 for none.
std::vector<std::int32_t> busiest_arcs(const Lanes& lanes, const FlowSet& flows, const std::vector<double>& seconds,
                                       double most) {
  std::vector<std::int32_t> arcs(flows.legs(), -1);
  for (std::size_t l = 0; l < arcs.size(); ++l) {
    for (const ArcUse& use : flows.uses(LegId(static_cast<std::int64_t>(l)))) {
      for_each_lane(lanes, use, [&](std::size_t lane, double) {
        if (arcs[l] < 0 && seconds[lane] >= most * (1.0 - kTolerance)) {
          arcs[l] = use.arc.value();
        }
      });
    }
  }
  return arcs;
}

}  // namespace

std::optional<LastFlow> last_by_busiest_lane(const Lanes& lanes, const FlowSet& flows) {
  if (flows.flows().empty() || !equal(flows)) {
    return std::nullopt;
  }
  const std::vector<double> seconds = seconds_of_lanes(lanes, flows);
  const double most = *std::max_element(seconds.begin(), seconds.end());
  const std::vector<std::int32_t> arcs = busiest_arcs(lanes, flows, seconds, most);
  std::vector<std::int32_t> of_path(flows.paths(), -1);
  for (std::size_t p = 0; p < of_path.size(); ++p) {
    for (const LegUse& leg : flows.path(p)) {
      of_path[p] = of_path[p] < 0 ? arcs[leg.leg.at()] : of_path[p];
    }
  }
  // A coupled group ends together, wherever it is held.
  std::vector<std::int32_t> of_group(groups_of(flows), -1);
  for (std::size_t i = 0; i < flows.flows().size(); ++i) {
    const Flow& flow = flows.flows()[i];
    if (flow.coupled_group && of_group[static_cast<std::size_t>(*flow.coupled_group)] < 0) {
      of_group[static_cast<std::size_t>(*flow.coupled_group)] = of_path[flows.path_of(i)];
    }
  }
  LastFlow last;
  std::size_t path = flows.paths();
  Seconds latency;
  for (std::size_t i = 0; i < flows.flows().size(); ++i) {
    const Flow& flow = flows.flows()[i];
    std::int32_t arc = of_path[flows.path_of(i)];
    if (flow.coupled_group) {
      arc = of_group[static_cast<std::size_t>(*flow.coupled_group)];
    }
    if (arc < 0) {
      continue;
    }
    if (flows.path_of(i) != path) {
      path = flows.path_of(i);
      latency = flows.latency_of_flow(i);
    }
    const Seconds finish = latency + from_si<Seconds>(most);
    if (!last.bottleneck || finish > last.finish) {
      last = {finish, ArcId(arc)};
    }
  }
  return last;
}

}  // namespace trainyard::simulator
