// The best layouts again, instruction by instruction on the cluster's graph.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/plan_options.h"
#include "cli/session.h"
#include "simulator/planner/layout_search.h"
#include "simulator/simulate_cluster.h"

namespace trainyard::cli {

struct GraphCheck {
  Layout layout;
  Seconds formula;                                 // the search's step
  std::optional<simulator::StepSpread> simulated;  // or why not:
  std::string why_not;
};

// The first options.simulated of the best. Throws Error where --cluster isn't a fabric.
std::vector<GraphCheck> check_on_graph(const PlanOptions& options, const simulator::SearchRequest& request,
                                       const simulator::SearchResult& result);

void print_graph_checks(const Session& session, const std::vector<GraphCheck>& checks);
nlohmann::ordered_json to_json(const std::vector<GraphCheck>& checks);

}  // namespace trainyard::cli
