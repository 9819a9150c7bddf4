#include "cli/graph_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/plan_cluster_report.h"
#include "cli/text/table.h"
#include "cli/topology_option.h"
#include "core/error.h"
#include "core/layout/layout_text.h"
#include "core/units/format_quantity.h"
#include "simulator/planner/planner.h"

namespace trainyard::cli {

namespace {

// Simulates layouts of one search on one cluster.
class LayoutChecker {
 public:
  LayoutChecker(const Topology& topology, const simulator::SearchRequest& request, const Training& training,
                const simulator::InputFeed& feed, simulator::FlowGroupOptions flows)
      : topology_(topology),
        request_(request),
        feed_(feed),
        groups_(topology.cluster, request.space.ranks, simulator::shipped_collective_models(), flows) {
    planned_.model = request.space.workload.model;
    planned_.training = training;
    planned_.ranks = request.space.ranks;
  }

  int seeds() const { return groups_.seeds(); }

  // On the first so many of the hash seeds.
  void simulate(GraphCheck& result, int first) const {
    const Plan plan = simulator::make_plan(planned_, topology_.profile, result.layout);
    try {
      const auto outcome = simulator::spread_on_cluster(plan, request_.machine, groups_, first);
      if (const Infeasible* infeasible = std::get_if<Infeasible>(&outcome)) {
        result.why_not = infeasible->detail;
      } else {
        result.simulated = simulator::fed(std::get<simulator::StepSpread>(outcome), feed_, result.layout);
      }
    } catch (const Error& error) {  // a layout that programs don't express yet
      result.why_not = error.what();
    }
  }

 private:
  const Topology& topology_;
  const simulator::SearchRequest& request_;
  const simulator::InputFeed& feed_;
  simulator::FlowGroupCost groups_;
  simulator::PlannerRequest planned_;
};

// The one to show first: what --pick names, without it the fastest as far as is known.
GraphCheck* to_show(const PlanOptions& options, std::vector<GraphCheck>& checks) {
  const auto found = std::ranges::find_if(checks, [&](const GraphCheck& check) {
    return options.pick == 1 ? &check == fastest(checks) : check.place == options.pick - 1 && check.simulated;
  });
  return found == checks.end() ? nullptr : &*found;
}

}  // namespace

std::vector<GraphCheck> check_on_graph(const PlanOptions& options, const simulator::SearchRequest& request,
                                       const simulator::SearchResult& result, const simulator::InputFeed& feed,
                                       const std::function<void(const std::string&)>& show) {
  if (!names_topology(options.machine.cluster)) {
    throw Error("has no graph to simulate on", "--cluster " + options.machine.cluster,
                "a fabric such as superpod-h100:su=4 or a topology file; see `trainyard topology --list`");
  }
  TopologyOption usual;
  usual.accelerator = options.accelerator;
  const Topology topology = open_topology(options.machine.cluster, usual);
  const LayoutChecker checker(topology, request, training_from(options.training), feed,
                              flow_options(topology.cluster, usual));
  std::vector<GraphCheck> checks;
  const std::size_t most = std::min(kTriedForEach * options.simulated, result.best.size());
  std::size_t simulated = 0;
  const auto try_place = [&](std::size_t place) {
    const simulator::RankedLayout& layout = result.best[place];
    show(fmt::format("simulating: {} of {} done", simulated, options.simulated));
    checks.push_back(
        {.place = place, .layout = layout.layout, .formula = layout.step.step_time, .simulated = {}, .why_not = {}});
    checker.simulate(checks.back(), 1);
    simulated += checks.back().simulated ? 1 : 0;
  };
  for (std::size_t i = 0; i < most && simulated < options.simulated; ++i) {
    try_place(i);
  }
  if (options.pick > checks.size() && options.pick <= result.best.size()) {
    try_place(options.pick - 1);  // whatever the others were
  }
  const int seeds = checker.seeds();
  if (seeds == 1 || simulated == 0) {
    return checks;
  }
  // Its median may be later than its first seed, and another the fastest then.
  for (GraphCheck* best = to_show(options, checks); best != nullptr && best->simulated->seeds < seeds;
       best = to_show(options, checks)) {
    show(fmt::format("simulating number {} on {} hash seeds", best->place + 1, seeds));
    checker.simulate(*best, seeds);
    check(best->simulated->seeds == seeds, "a layout simulated on one seed is so on more");
  }
  return checks;
}

const GraphCheck* fastest(const std::vector<GraphCheck>& checks) {
  const GraphCheck* best = nullptr;
  for (const GraphCheck& check : checks) {
    if (check.simulated && (best == nullptr || check.simulated->median < best->simulated->median)) {
      best = &check;
    }
  }
  return best;
}

void print_graph_checks(const Session& session, const std::vector<GraphCheck>& checks) {
  Table table({"", "by formula", "on the graph", "5 to 95 %", "difference", "layout, or why it isn't simulated"},
              {Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  for (const GraphCheck& row : checks) {
    if (!row.simulated) {
      table.add_row({std::to_string(row.place + 1), format_quantity(row.formula), "", "", "",
                     layout_text(row.layout) + ": " + row.why_not});
      continue;
    }
    table.add_row(
        {std::to_string(row.place + 1), format_quantity(row.formula), format_quantity(row.simulated->median),
         row.simulated->seeds > 1 ? format_quantity(row.simulated->low) + " - " + format_quantity(row.simulated->high)
                                  : "",
         fmt::format("{:+.1f} %", 100.0 * (row.simulated->median / row.formula - 1.0)), layout_text(row.layout)});
  }
  fmt::print("\ninstruction by instruction on the cluster's graph; numbers are those of the ranking by formula\n{}",
             table.text(session.out));
}

nlohmann::ordered_json to_json(const std::vector<GraphCheck>& checks) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const GraphCheck& row : checks) {
    nlohmann::ordered_json object = {{"layout", layout_text(row.layout)}, {"formula_s", row.formula.si()}};
    object["median_s"] = row.simulated ? nlohmann::ordered_json(row.simulated->median.si()) : nlohmann::ordered_json();
    object["low_s"] = row.simulated ? nlohmann::ordered_json(row.simulated->low.si()) : nlohmann::ordered_json();
    object["high_s"] = row.simulated ? nlohmann::ordered_json(row.simulated->high.si()) : nlohmann::ordered_json();
    object["seeds"] = row.simulated ? nlohmann::ordered_json(row.simulated->seeds) : nlohmann::ordered_json();
    object["why_not"] = row.simulated ? nlohmann::ordered_json() : nlohmann::ordered_json(row.why_not);
    array.push_back(std::move(object));
  }
  return array;
}

}  // namespace trainyard::cli
