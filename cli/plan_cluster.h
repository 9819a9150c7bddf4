// `plan` on a cluster of published numbers: every layout searched in closed form, and what-ifs about the machine, its
// size and the largest training that fits.
#pragma once

#include "cli/plan_options.h"
#include "cli/session.h"
#include "core/plan/device_profile.h"

namespace trainyard::cli {

int plan_on_cluster(const Session& session, const PlanOptions& options, const DeviceProfile& profile);

}  // namespace trainyard::cli
