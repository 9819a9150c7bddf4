#include "simulator/fabric/fair_share.h"

#include <algorithm>

#include "simulator/fabric/busiest_lane.h"
#include "simulator/fabric/flow_evolution.h"
#include "simulator/fabric/lanes.h"
#include "simulator/fabric/progressive_filling.h"
#include "simulator/fabric/sharing_problem.h"

namespace trainyard::simulator {

namespace {

// From a column's bottleneck, a row that stands for many lanes, to each flow's own: the first arc of its path in that
// row; of a coupled flow, the first of its group's paths.
class BottleneckFinder {
 public:
  BottleneckFinder(const FlowSet& flows, const Lanes& lanes, const SharingProblem& problem)
      : flows_(flows), lanes_(lanes), problem_(problem), found_(flows.legs()) {}

  template <class RowOfColumn>
  std::vector<std::optional<ArcId>> find(const RowOfColumn& row_of_column) {
    std::vector<std::optional<ArcId>> of_commodity;
    for (std::size_t i = 0; i < flows_.flows().size(); ++i) {
      const std::uint32_t commodity = problem_.commodity_of[i];
      if (commodity >= of_commodity.size()) {
        of_commodity.resize(commodity + 1);
      }
      const std::uint32_t row = row_of_column(problem_.column_of[i]);
      if (row != SharingProblem::kNone && !of_commodity[commodity]) {
        of_commodity[commodity] = on_path(flows_.path_of(i), row);
      }
    }
    std::vector<std::optional<ArcId>> arcs;
    arcs.reserve(flows_.flows().size());
    for (const std::uint32_t commodity : problem_.commodity_of) {
      arcs.push_back(of_commodity[commodity]);
    }
    return arcs;
  }

  std::optional<ArcId> find_one(std::size_t flow, std::uint32_t row) {
    return row == SharingProblem::kNone ? std::nullopt : on_path(flows_.path_of(flow), row);
  }

 private:
  struct Found {
    std::uint32_t row = SharingProblem::kNone;
    std::optional<ArcId> arc;
  };

  // A leg that many flows share is searched once for flows with one bottleneck.
  std::optional<ArcId> on_path(std::size_t path, std::uint32_t row) {
    for (const LegUse& leg : flows_.path(path)) {
      Found& last = found_[leg.leg.at()];
      if (last.row != row) {
        last = {row, in_leg(leg.leg, row)};
      }
      if (last.arc) {
        return last.arc;
      }
    }
    return std::nullopt;
  }

  std::optional<ArcId> in_leg(LegId leg, std::uint32_t row) const {
    for (const ArcUse& use : flows_.uses(leg)) {
      const std::size_t first = lanes_.first(use.arc);
      const std::size_t begin = use.cable < 0 ? first : first + static_cast<std::size_t>(use.cable);
      const std::size_t end = use.cable < 0 ? first + lanes_.count(use.arc) : begin + 1;
      for (std::size_t lane = begin; lane < end; ++lane) {
        if (problem_.row_of[lane] == row) {
          return use.arc;
        }
      }
    }
    return std::nullopt;
  }

  const FlowSet& flows_;
  const Lanes& lanes_;
  const SharingProblem& problem_;
  std::vector<Found> found_;
};

// Sum over the paths of amount(path) * weight, by arc.
template <class Amount>
std::vector<double> amount_by_arc(const Cluster& cluster, const FlowSet& flows, const Amount& amount) {
  std::vector<double> by_leg(flows.legs(), 0.0);
  for (std::size_t p = 0; p < flows.paths(); ++p) {
    for (const LegUse& leg : flows.path(p)) {
      by_leg[leg.leg.at()] += amount(p) * leg.share;
    }
  }
  std::vector<double> by_arc(cluster.arcs(), 0.0);
  for (std::size_t l = 0; l < by_leg.size(); ++l) {
    for (const ArcUse& use : flows.uses(LegId(static_cast<std::int64_t>(l)))) {
      by_arc[use.arc.at()] += by_leg[l] * use.weight;
    }
  }
  return by_arc;
}

template <class Q>
std::vector<Q> quantities(const std::vector<double>& values) {
  std::vector<Q> typed;
  typed.reserve(values.size());
  for (const double value : values) {
    typed.push_back(from_si<Q>(value));
  }
  return typed;
}

}  // namespace

FairShare max_min_rates(const Cluster& cluster, const FlowSet& flows) {
  const Lanes lanes(cluster);
  const SharingProblem problem = sharing_problem(lanes, flows, {.by_bytes = false});
  FlowEvolution evolution(problem);
  evolution.start();
  const ProgressiveFilling& filling = evolution.rates();
  FairShare share;
  share.rate.reserve(flows.flows().size());
  for (std::size_t i = 0; i < flows.flows().size(); ++i) {
    share.rate.push_back(from_si<BytesPerSecond>(filling.rate(problem.column_of[i]) * problem.part[i]));
  }
  share.bottleneck =
      BottleneckFinder(flows, lanes, problem).find([&](std::uint32_t column) { return filling.bottleneck(column); });
  std::vector<double> of_path(flows.paths(), 0.0);
  for (std::size_t i = 0; i < share.rate.size(); ++i) {
    of_path[flows.path_of(i)] += share.rate[i].si();
  }
  share.load = quantities<BytesPerSecond>(amount_by_arc(cluster, flows, [&](std::size_t p) { return of_path[p]; }));
  return share;
}

FlowTimes run_flows(const Cluster& cluster, const FlowSet& flows) {
  const Lanes lanes(cluster);
  const SharingProblem problem = sharing_problem(lanes, flows);
  FlowEvolution evolution(problem);
  evolution.run();
  FlowTimes times;
  times.solved = problem.columns();
  times.finish.reserve(flows.flows().size());
  std::size_t path = flows.paths();  // the latency of neighbours on one path is added up once
  Seconds latency;
  for (std::size_t i = 0; i < flows.flows().size(); ++i) {
    if (flows.path_of(i) != path) {
      path = flows.path_of(i);
      latency = flows.latency_of_flow(i);
    }
    times.finish.push_back(latency + from_si<Seconds>(evolution.finish(problem.column_of[i])));
    times.last = max(times.last, times.finish.back());
  }
  times.bottleneck = BottleneckFinder(flows, lanes, problem).find([&](std::uint32_t column) {
    return evolution.longest_bottleneck(column);
  });
  times.carried =
      quantities<Bytes>(amount_by_arc(cluster, flows, [&](std::size_t p) { return flows.bytes_of_path(p).si(); }));
  return times;
}

LastFlow last_to_end(const Lanes& lanes, const FlowSet& flows, bool reduce) {
  if (const std::optional<LastFlow> last = last_by_busiest_lane(lanes, flows)) {
    return *last;
  }
  const SharingProblem problem = sharing_problem(lanes, flows, {.reduce = reduce});
  FlowEvolution evolution(problem);
  evolution.run();
  LastFlow last;
  std::optional<std::size_t> which;
  std::size_t path = flows.paths();
  Seconds latency;
  for (std::size_t i = 0; i < flows.flows().size(); ++i) {
    if (flows.path_of(i) != path) {
      path = flows.path_of(i);
      latency = flows.latency_of_flow(i);
    }
    const Seconds finish = latency + from_si<Seconds>(evolution.finish(problem.column_of[i]));
    if (!which || finish > last.finish) {
      last.finish = finish;
      which = i;
    }
  }
  if (which) {
    // Of a coupled group the first path that has the row, as run_flows() finds it.
    BottleneckFinder finder(flows, lanes, problem);
    const std::uint32_t row = evolution.longest_bottleneck(problem.column_of[*which]);
    for (std::size_t i = 0; i < flows.flows().size() && !last.bottleneck; ++i) {
      if (problem.commodity_of[i] == problem.commodity_of[*which]) {
        last.bottleneck = finder.find_one(i, row);
      }
    }
  }
  return last;
}

std::vector<std::string> limits() {
  return {
      "flows are a fluid that shares links max-min fairly at once: no slow start, no convergence, no reordering",
      "small and middle-sized messages: latency and the flow's own rate cap only, not the protocol's steps",
      "incast, pauses and drops in switch buffers aren't in the times; the queue report estimates them",
      "hashing is drawn with our hash, not the switch vendor's: take the spread over seeds, not one seed",
      "adaptive routing sees one switch's cables at a time; spraying splits evenly, also over a slow cable",
  };
}

}  // namespace trainyard::simulator
