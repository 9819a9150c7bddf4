// What a search of a cluster's layouts found, as tables and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/graph_check.h"
#include "cli/plan_options.h"
#include "cli/session.h"
#include "core/units/quantity.h"
#include "simulator/planner/goodput.h"
#include "simulator/planner/layout_search.h"
#include "simulator/planner/memory_advice.h"

namespace trainyard::cli {

// The layout that --explain names, beside the best.
struct ExplainedLayout {
  Layout layout;
  simulator::StepPrice step;
  simulator::MemoryPrice memory;
  std::optional<Infeasible> lacks;
  std::optional<simulator::FittingChange> change;  // where it lacks memory
};

struct ClusterPlan {
  const PlanOptions& options;
  const simulator::SearchRequest& request;
  const std::vector<simulator::AnchorEffect>& anchors;
  simulator::SearchResult result;
  std::optional<ExplainedLayout> explained;
  Seconds elapsed;
  std::vector<GraphCheck> checks;                 // of --simulate
  std::size_t picked = 0;                         // which of the best
  std::vector<simulator::GoodputLayout> goodput;  // of --goal goodput: of the best, in the same order
  std::string failures;                           // its profile
};

double tokens_per_second(const simulator::Workload& workload, const simulator::StepPrice& step);
double mfu(const simulator::StepPrice& step);
std::string tokens_text(double per_second);

void print_cluster_plan(const Session& session, const ClusterPlan& plan);
nlohmann::ordered_json to_json(const ClusterPlan& plan);
nlohmann::ordered_json to_json(const simulator::RankedLayout& layout, const simulator::Workload& workload);

}  // namespace trainyard::cli
