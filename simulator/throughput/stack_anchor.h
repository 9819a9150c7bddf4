// A stack's profile after runs of the user's own.
//
// A run is a measurement like those that profiles are fitted to: its constants move from the profile's towards what
// the run says, each as far as stacks are known to differ in it (stack_priors.h), so that a run bound by products says
// little of launches, and one in 16 bits little of 8-bit products. A share of what is left, the mean over runs, scales
// all steps. The constants stay within the priors' bounds, or where the profile has them already: a run that takes what
// is predicted changes nothing. A constant of 0 stays.
#pragma once

#include <vector>

#include "core/plan/stack_profile.h"
#include "simulator/throughput/throughput_fit.h"

namespace trainyard::simulator {

struct AnchorRun {
  CasePricer* pricer = nullptr;
  double measured_s = 0.0;  // its step time
};

// At least one run. Several are fitted at once: their order doesn't matter.
StackProfile anchored_profile(const StackProfile& profile, const std::vector<AnchorRun>& runs);

}  // namespace trainyard::simulator
