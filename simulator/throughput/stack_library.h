// StackLibrary: the profiles that come with Trainyard, and which of them prices a run.
//
// A run of known software and generation has its own profile; others take their family's: a generation of accelerators
// with fused kernels or without, or all generations. A family's constants are means that the fit estimates too
// (throughput_fit.h), and its band is wider. Habits (attention kernel, fusion) stay the run's own.
#pragma once

#include <map>
#include <string>

#include "core/plan/stack_profile.h"
#include "simulator/throughput/throughput_case.h"

namespace trainyard::simulator {

struct StackLibrary {
  std::map<std::string, StackProfile> stacks;
  std::map<std::string, StackProfile> families;  // "hopper-fused", "any-eager", ...
};

enum class StackEvidence : std::uint8_t {
  kAnchored,  // scaled by a run of the user's
  kOwnGroup,  // the constants were fitted on this model and machine
  kOwnStack,  // ... on other models or machines with this software
  kBorrowed,  // on other software
};
std::string_view to_string(StackEvidence evidence);  // "anchored", "own_group", ...

struct ChosenStack {
  StackProfile profile;
  StackEvidence evidence = StackEvidence::kBorrowed;
  double band(bool experts) const;
};

// The profile that rows of this source, software and release share: "nemo-2025-hopper".
std::string stack_name(const ThroughputCase& row);
std::string family_of(const SoftwareWords& software);

// Attention kernel, fusion, transfers: what the software's words tell, into the profile.
void take_habits(const SoftwareWords& software, StackProfile& profile);

ChosenStack choose_stack(const StackLibrary& library, const ThroughputCase& row);

// models/stacks, compiled in.
StackLibrary shipped_stacks();

}  // namespace trainyard::simulator
