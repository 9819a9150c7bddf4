// A stack's profile after one run of the user's own.
//
// The run is a measurement like those that profiles are fitted to: its constants move from the profile's towards what
// the run says, each as far as stacks are known to differ in it (stack_priors.h), so that a run bound by products says
// little of launches, and one in 16 bits little of 8-bit products. A share of what is left scales all steps.
#pragma once

#include "core/plan/stack_profile.h"
#include "simulator/throughput/throughput_fit.h"

namespace trainyard::simulator {

// pricer: the run's. measured_s: its step time.
StackProfile anchored_profile(const StackProfile& profile, CasePricer& pricer, double measured_s);

}  // namespace trainyard::simulator
