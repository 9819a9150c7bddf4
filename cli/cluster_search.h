// The search of a cluster's layouts that flags ask for.
#pragma once

#include "cli/long_answer.h"
#include "cli/plan_options.h"
#include "simulator/planner/layout_search.h"
#include "simulator/throughput/machine.h"

namespace trainyard::cli {

// Throws Error for a sequence longer than the model's positions.
simulator::SearchRequest cluster_request(const PlanOptions& options, const simulator::Machine& machine);

simulator::SearchResult search_cluster(LongAnswer& answer, const simulator::SearchRequest& request,
                                       const simulator::PricerFactory& pricers);

}  // namespace trainyard::cli
