// The best layouts again, instruction by instruction on the cluster's graph.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/plan_options.h"
#include "cli/session.h"
#include "simulator/planner/layout_search.h"
#include "simulator/simulate_cluster.h"
#include "simulator/step/input_feed.h"

namespace trainyard::cli {

struct GraphCheck {
  std::size_t place = 0;  // in the ranking by formula, from 0
  Layout layout;
  Seconds formula;                                 // the search's step
  std::optional<simulator::StepSpread> simulated;  // or why not:
  std::string why_not;
};

// So many of the best are tried for each that is asked for: programs of some need more memory than the formula says.
constexpr std::size_t kTriedForEach = 4;

// From the best down, until options.simulated are simulated: each on one hash seed, the one to show (--pick, else the
// fastest) on the usual number. Steps wait for data as the search's do. Throws Error where --cluster isn't a fabric.
// `show` is told how far it is.
std::vector<GraphCheck> check_on_graph(const PlanOptions& options, const simulator::SearchRequest& request,
                                       const simulator::SearchResult& result, const simulator::InputFeed& feed,
                                       const std::function<void(const std::string&)>& show);

// The fastest of those simulated; none where none is.
const GraphCheck* fastest(const std::vector<GraphCheck>& checks);

void print_graph_checks(const Session& session, const std::vector<GraphCheck>& checks);
nlohmann::ordered_json to_json(const std::vector<GraphCheck>& checks);

}  // namespace trainyard::cli
