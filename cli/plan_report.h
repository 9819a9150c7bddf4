// What `plan` found, as tables and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/session.h"
#include "core/plan/capabilities.h"
#include "core/plan/device_profile.h"
#include "core/units/quantity.h"
#include "simulator/planner/planner.h"

namespace trainyard::cli {

struct PlanReport {
  const simulator::PlannerRequest& request;
  const simulator::PlannerResult& result;
  const DeviceProfile& profile;
  Capabilities executor;   // of this build: marks what it could run
  std::size_t top = 10;    // rows shown
  std::size_t picked = 0;  // index into result.ranked
  std::string output;      // where the plan went; empty: nowhere
  Seconds elapsed;
  bool explain = false;
};

void print_report(const Session& session, const PlanReport& report);
nlohmann::ordered_json to_json(const PlanReport& report);

// "12 don't divide, such as tp3: 8 key-value heads can't be cut over 3 tensor-parallel ranks", one a reason with its
// commonest example; --json has all.
std::vector<std::string> ruled_out_lines(const simulator::PlannerResult& result);

}  // namespace trainyard::cli
