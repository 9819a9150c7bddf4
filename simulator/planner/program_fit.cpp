#include "simulator/planner/program_fit.h"

#include <utility>

#include "core/error.h"
#include "simulator/memory/outline_memory.h"
#include "simulator/step/step_costs.h"

namespace trainyard::simulator {

ProgramFit program_fit(const Plan& plan, const DeviceProfile& profile) {
  ProgramFit fit;
  try {
    const std::vector<RoleMemory> memory = outline_memory(outline(plan), profile);
    fit.total = worst(memory).total;
    fit.lacks = exceeds_memory(memory, profile, ranks_per_node(profile, plan.layout.ranks()));
  } catch (const Error& error) {  // a layout that programs don't express
    fit.not_expressed = error.what();
  }
  return fit;
}

std::vector<ProgramFit> unfit_ahead(std::size_t count, const std::function<Plan(std::size_t)>& plan,
                                    const DeviceProfile& profile, const std::stop_token& stop) {
  std::vector<ProgramFit> unfit;
  while (unfit.size() < count && !stop.stop_requested()) {
    ProgramFit fit = program_fit(plan(unfit.size()), profile);
    if (!fit.lacks) {
      break;
    }
    unfit.push_back(std::move(fit));
  }
  return unfit;
}

}  // namespace trainyard::simulator
