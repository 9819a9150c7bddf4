// The software that a cluster's layouts are priced with: `--stack`, and `--anchor` for runs of the user's own.
//
//   --stack megatron-2025-hopper    of models/stacks
//   --stack ours.json               a file that --save-stack wrote
//   --anchor mine.json=5.7s         a plan, and how long its step took on the cluster
//   --anchor runs/a                 a folder of `trainyard run`
//   --anchor rows.json              measured runs in the form of published ones (docs/file_formats.md)
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/file_arguments.h"
#include "simulator/planner/own_runs.h"
#include "simulator/throughput/machine.h"

namespace CLI {
class App;
}

namespace trainyard::cli {

struct StackOption {
  std::string stack;  // empty: by the GPU
  std::vector<std::string> anchors;
  std::string save;  // where to write the anchored profile

  std::string first_flag() const;  // of those given; empty where none is
};

std::vector<FileArgument> files_of(const StackOption& option);  // that it reads

void add_stack_option(CLI::App& verb, std::string& stack, const std::string& group);
void add_anchor_options(CLI::App& verb, StackOption& option, const std::string& group);

// A note says where the profile is of another generation. Throws Error for a name that isn't known, and for a file that
// is no profile.
StackProfile open_stack(const Accelerator& accelerator, const std::string& word);

// How a plan's data comes, where that is known: what its measured steps waited for (input_options.h).
using FeedOfPlan = std::function<std::optional<simulator::InputFeed>(const Plan& plan)>;

// The machine with its stack, and what anchors made of it. Of runs in a folder and of rows, which are of text, steps
// don't wait. Throws Error for --save-stack without --anchor.
struct StackedMachine {
  simulator::Machine machine;
  std::vector<simulator::AnchorEffect> anchors;
};
StackedMachine open_stacked_machine(const Accelerator& accelerator, const Fabric& fabric, const StackOption& option,
                                    const FeedOfPlan& feed);

// Writes the profile where --save-stack says: with the answer, so that a stopped one leaves no file.
void save_stack(const StackOption& option, const StackProfile& profile);

// A line on standard error for each anchor: measured, predicted before and after; and how near other runs are expected,
// of models with experts or without.
void print_anchors(const StackedMachine& stacked, bool experts);
nlohmann::ordered_json to_json(const std::vector<simulator::AnchorEffect>& anchors);

}  // namespace trainyard::cli
