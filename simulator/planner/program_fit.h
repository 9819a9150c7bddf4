// ProgramFit: a layout's memory as the program that `simulate` and the executor run, stage by stage, where a search
// goes by a closed form (memory_model.h). Cost: O(instructions), 0.1 s for 500,000.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/plan/device_profile.h"
#include "core/plan/infeasible.h"
#include "core/plan/plan.h"
#include "core/units/count.h"

namespace trainyard::simulator {

struct ProgramFit {
  ByteCount total;                  // of the fullest rank
  std::optional<Infeasible> lacks;  // where it needs too much
  std::string not_expressed;        // why programs don't express the layout, if they don't; then nothing is known
};

ProgramFit program_fit(const Plan& plan, const DeviceProfile& profile);

// What leads a ranking must fit as a program: those ahead of the first that does, or isn't expressed, in order.
// plan(i): of rank i of `count`.
std::vector<ProgramFit> unfit_ahead(std::size_t count, const std::function<Plan(std::size_t)>& plan,
                                    const DeviceProfile& profile, const std::stop_token& stop = {});

}  // namespace trainyard::simulator
