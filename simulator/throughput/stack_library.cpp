#include "simulator/throughput/stack_library.h"

#include <algorithm>
#include <regex>

namespace trainyard::simulator {

namespace {

// Halves of a year of NVIDIA's containers: "25.09" and "25.11" are one, "26.04", "26.06". A release changes experts'
// and low-precision kernels; without one, the year.
std::string release_half(const ThroughputCase& row) {
  std::smatch match;
  const std::regex release(R"((2[4-9])\.(\d\d))");
  const std::string words = row.run.id + " " + row.run.source;
  if (!std::regex_search(words, match, release)) {
    return row.run.year >= 2026 ? "2026.1" : "2025.2";
  }
  return "20" + match[1].str() + (std::stoi(match[2]) <= 5 ? ".1" : ".2");
}

}  // namespace

std::string family_of(const SoftwareWords& software) {
  return software.generation + (software.fused ? "-fused" : "-eager");
}

std::string stack_name(const ThroughputCase& row) {
  const std::string& key = row.run.source_key;
  std::string software = key;
  if (key == "sc21-t1" || key == "korthikanti-t5") {
    software = "megatron-2022";
  } else if (key.rfind("dgxc", 0) == 0) {
    software = "nemo-2025";
  } else if (key == "megatron-bridge" || key == "moe-modelzoo") {
    software = "megatron-bridge-" + release_half(row);
  }
  return software + "-" + row.software.generation;
}

std::string_view to_string(StackEvidence evidence) {
  switch (evidence) {
    case StackEvidence::kAnchored:
      return "anchored";
    case StackEvidence::kOwnGroup:
      return "own_group";
    case StackEvidence::kOwnStack:
      return "own_stack";
    case StackEvidence::kBorrowed:
      return "borrowed";
  }
  return "?";
}

double ChosenStack::band(bool experts) const {
  if (evidence == StackEvidence::kAnchored) {
    return experts ? std::max(profile.band_anchored, 0.5 * profile.band_experts) : profile.band_anchored;
  }
  const double own = evidence == StackEvidence::kOwnGroup ? profile.band_fitted : profile.band;
  return experts ? std::max(own, profile.band_experts) : own;
}

ChosenStack choose_stack(const StackLibrary& library, const ThroughputCase& row) {
  const auto own = library.stacks.find(stack_name(row));
  if (own != library.stacks.end()) {
    const std::vector<std::string>& groups = own->second.groups;
    const bool fitted = std::find(groups.begin(), groups.end(), row.run.group) != groups.end();
    return {own->second, fitted ? StackEvidence::kOwnGroup : StackEvidence::kOwnStack};
  }
  const SoftwareWords& software = row.software;
  const auto family = library.families.find(family_of(software));
  ChosenStack chosen;
  chosen.profile = family != library.families.end() ? family->second
                                                    : library.families.at(software.fused ? "any-fused" : "any-eager");
  chosen.profile.attention = software.attention;
  chosen.profile.fused = software.fused;
  chosen.profile.sliced_transfer = software.sliced_transfer;
  return chosen;
}

}  // namespace trainyard::simulator
