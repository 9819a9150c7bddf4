// OwnRun: a training run that the user measured, which a stack's profile is anchored on for plans (stack_anchor.h).
//
// Either a plan and the step time it had on the machine that is planned for, or rows in the form of published ones
// (published_throughput.h), which say themselves what machine they ran on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "simulator/step/input_feed.h"
#include "simulator/throughput/machine.h"
#include "simulator/throughput/throughput_case.h"

namespace trainyard::simulator {

struct OwnRun {
  std::string name;               // how messages call it
  std::string id;                 // of what ran and its step time: given again, the run has it again
  ThroughputCase row;             // priced on its own machine; its steps don't wait for data
  std::optional<InputFeed> feed;  // that its measured steps waited for, where they did
};

// A plan that was run on this machine. feed: how its data came, where that is known. Throws Error for a step time that
// isn't above 0 s or no longer than reading takes (input_feed.h), and for a plan whose cluster or device is of another
// generation.
OwnRun own_run(const std::string& name, const Plan& plan, const Machine& machine, Seconds step,
               const std::optional<InputFeed>& feed = std::nullopt);

// The rows of the text that were measured on this accelerator's generation and can be priced. Throws Error where there
// is none: with the last's reason.
std::vector<OwnRun> own_runs(const std::string& text, const std::string& where, const Accelerator& accelerator);

// Step times with what they wait for data.
struct AnchorEffect {
  std::string name;
  Seconds measured;
  Seconds before;  // predicted by the profile as it was
  Seconds after;
  bool known = false;  // the profile follows it already, or it was given twice: it counts once
};

struct AnchoredStack {
  StackProfile profile;
  std::vector<AnchorEffect> runs;
};

// The profile after the runs. Its scale is folded into its constants (with_scale_folded), its bands are those of a
// stack that one run has set: the interval narrows with the first, and never below how far the runs stay from what is
// predicted. A run counts once: the profile keeps which it follows. Throws Error for a run that takes e^kWidestBand
// times what the profile predicts, or that little of it, or less than its FLOPs take at the accelerator's peak: not the
// run it is said to be.
AnchoredStack anchored_on(const StackProfile& profile, const std::vector<OwnRun>& runs);

// The same step times with a scale of 1: rates divided, times and factors on them multiplied by it, so that also
// programs, whose instructions are priced one by one, have it.
StackProfile with_scale_folded(const StackProfile& profile);

}  // namespace trainyard::simulator
