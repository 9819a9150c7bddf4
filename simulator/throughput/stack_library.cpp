#include "simulator/throughput/stack_library.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <regex>
#include <string_view>

#include "core/document/text_match.h"

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

std::string software_name(const ThroughputCase& row) {
  const std::string key = lower_case(row.run.source_key);
  const SoftwareWords& software = row.software;
  struct Known {
    std::string_view part;
    std::string_view name;
  };
  constexpr std::array<Known, 9> kKnown = {{{"sc21", "megatron-2021"},
                                            {"korthikanti", "megatron-2022"},
                                            {"dgxc", "nemo-2025"},
                                            {"nemo", "nemo-2025"},
                                            {"vtrain", "vtrain"},
                                            {"foundry", "llm-foundry"},
                                            {"llmc", "llmc"},
                                            {"llm.c", "llmc"},
                                            {"bloom", "bloom-prequel"}}};
  for (const Known& known : kKnown) {
    if (contains(key, known.part) && !contains(key, "nemotron")) {
      return std::string(known.name);
    }
  }
  if (contains(key, "bridge") || contains(key, "modelzoo")) {
    return "megatron-bridge-" + release_half(row);
  }
  const bool megatron_of_2022 = software.attention == AttentionKernel::kUnfused && software.year <= 2022 &&
                                software.kind == "megatron" && software.sliced_transfer;
  return !megatron_of_2022 ? row.run.source_key : software.year <= 2021 ? "megatron-2021" : "megatron-2022";
}

// The release of the same software next to the one asked for; none of other software.
const StackProfile* nearest_release(const StackLibrary& library, const ThroughputCase& row) {
  const std::string software = software_name(row);
  const std::size_t dash = software.rfind('-');
  const StackProfile* nearest = nullptr;
  double least = 0.0;
  for (const auto& [name, profile] : library.stacks) {
    const bool same = dash != std::string::npos && name.compare(0, dash + 1, software, 0, dash + 1) == 0;
    if (same && profile.generation == row.software.generation) {
      const double away =
          std::abs(std::strtod(name.c_str() + dash + 1, nullptr) - std::strtod(software.c_str() + dash + 1, nullptr));
      if (nearest == nullptr || away < least) {
        nearest = &profile;
        least = away;
      }
    }
  }
  return nearest;
}

}  // namespace

std::string stack_name(const ThroughputCase& row) {
  return (row.apart ? row.run.group : software_name(row)) + "-" + row.software.generation;
}

std::string family_of(const SoftwareWords& software) {
  return software.generation + (software.fused ? "-fused" : "-eager");
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
  // band_experts is of groups left out; those fitted lie three quarters as far off (7.8 % against 10.4 %).
  constexpr double kFittedExperts = 0.75;
  const bool fitted = evidence == StackEvidence::kOwnGroup;
  const double own = fitted ? profile.band_fitted : profile.band;
  return experts ? std::max(own, (fitted ? kFittedExperts : 1.0) * profile.band_experts) : own;
}

void take_habits(const SoftwareWords& software, StackProfile& profile) {
  profile.attention = software.attention;
  profile.fused = software.fused;
  profile.sliced_transfer = software.sliced_transfer;
  profile.post_validation = software.post_validation;
  profile.fused_accumulation = software.fused_accumulation;
  profile.early_stop = software.early_stop;
}

ChosenStack choose_stack(const StackLibrary& library, const ThroughputCase& row) {
  const auto own = library.stacks.find(stack_name(row));
  if (own != library.stacks.end()) {
    const std::vector<std::string>& groups = own->second.groups;
    const bool fitted = std::find(groups.begin(), groups.end(), row.run.group) != groups.end();
    return {own->second, fitted ? StackEvidence::kOwnGroup : StackEvidence::kOwnStack};
  }
  if (software_name(row).rfind("megatron-", 0) == 0) {
    if (const StackProfile* release = nearest_release(library, row); release != nullptr) {
      ChosenStack chosen{*release, StackEvidence::kOwnStack};
      chosen.profile.post_validation = row.software.post_validation;
      chosen.profile.fused_accumulation = row.software.fused_accumulation;
      return chosen;
    }
  }
  const SoftwareWords& software = row.software;
  const auto family = library.families.find(family_of(software));
  ChosenStack chosen;
  chosen.profile = family != library.families.end() ? family->second
                                                    : library.families.at(software.fused ? "any-fused" : "any-eager");
  take_habits(software, chosen.profile);
  return chosen;
}

}  // namespace trainyard::simulator
