// The search of a problem's layouts as rows for the table: on a cluster of published numbers by formula over every
// layout, on this machine by what its profile measured and its executor runs.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "gui/session/plan_row.h"
#include "gui/session/problem.h"
#include "gui/session/results.h"

namespace trainyard::gui {

struct FoundPlans {
  std::vector<PlanRow> plans;  // as Results has them
  SearchSummary summary;
};

struct SearchReport {
  double fraction = 0.0;
  std::string text;
  // Best so far; makes the rows when called, during the report only.
  std::function<FoundPlans()> best;
};

// Throws Error.
FoundPlans search_plans(const Problem& problem, const std::function<void(const SearchReport&)>& report,
                        const std::stop_token& stop);

// Goodput of the first rows, under the problem's failures; rows that can't follow the policy stay without.
void add_goodput(const Problem& problem, std::vector<PlanRow>& plans, const std::stop_token& stop);

}  // namespace trainyard::gui
