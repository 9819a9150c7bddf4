// What-ifs around the best layout: another machine, other sizes of the cluster, the largest training that fits. Each
// prints its own table, or JSON.
#pragma once

#include "cli/plan_options.h"
#include "cli/session.h"
#include "simulator/planner/layout_search.h"
#include "simulator/planner/search_machine.h"

namespace trainyard::cli {

struct Study {
  const Session& session;
  const PlanOptions& options;
  const simulator::SearchRequest& request;
  const simulator::MachinePricers& pricers;
};

int print_sensitivity(const Study& study, const simulator::RankedLayout& today);
int print_sweep(const Study& study);
int print_maximum(const Study& study);

}  // namespace trainyard::cli
