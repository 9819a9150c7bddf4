// OwnRun: a training run that the user measured, which a stack's profile is anchored on for plans (stack_anchor.h).
//
// Either a plan and the step time it had on the machine that is planned for, or rows in the form of published ones
// (published_throughput.h), which say themselves what machine they ran on.
#pragma once

#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "simulator/throughput/machine.h"
#include "simulator/throughput/throughput_case.h"

namespace trainyard::simulator {

struct OwnRun {
  std::string name;    // how messages call it
  ThroughputCase row;  // priced on its own machine
};

// Throws Error for a step time that isn't above 0 s.
OwnRun own_run(const std::string& name, const Plan& plan, const Machine& machine, Seconds step);

// The rows of the text that were measured on this accelerator's generation and can be priced. Throws Error where there
// is none: with the last's reason.
std::vector<OwnRun> own_runs(const std::string& text, const std::string& where, const Accelerator& accelerator);

struct AnchorEffect {
  std::string name;
  Seconds measured;
  Seconds before;  // predicted by the profile as it was
  Seconds after;
};

struct AnchoredStack {
  StackProfile profile;
  std::vector<AnchorEffect> runs;
};

// The profile after the runs. Its scale is folded into its constants (with_scale_folded), its bands are those of a
// stack that one run has set: the interval narrows, once, unless the runs stay farther off. Throws Error for a run that
// takes less than a seventh or more than seven times what the profile predicts: not the run it is said to be.
AnchoredStack anchored_on(const StackProfile& profile, const std::vector<OwnRun>& runs);

// The same step times with a scale of 1: rates divided, times and factors on them multiplied by it, so that also
// programs, whose instructions are priced one by one, have it.
StackProfile with_scale_folded(const StackProfile& profile);

}  // namespace trainyard::simulator
