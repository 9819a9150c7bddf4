#include "cli/stack_option.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "core/document/read_file.h"
#include "core/document/write_file.h"
#include "core/error.h"
#include "core/plan/plan.h"
#include "core/plan/run_record.h"
#include "core/units/format_quantity.h"
#include "core/units/parse_quantity.h"
#include "executor/run/run_files.h"
#include "simulator/planner/search_machine.h"
#include "simulator/throughput/machine_rates.h"

namespace trainyard::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFlag = "--anchor";

// Where PLAN=TIME is divided; nothing for the name of a file or a folder.
std::optional<std::size_t> equals_of(const std::string& anchor) {
  const std::size_t equals = anchor.rfind('=');
  return equals == std::string::npos || fs::exists(anchor) ? std::nullopt : std::optional(equals);
}

simulator::OwnRun run_of_folder(const std::string& folder, const simulator::Machine& machine) {
  const executor::RunFiles files{folder};
  if (!fs::exists(files.record())) {
    throw Error("holds no run", folder, "give the folder that `trainyard run --output` wrote");
  }
  const RunRecord record = read_run_record(files.record());
  const std::vector<Seconds> steps = warm_steps(record);
  if (steps.empty()) {
    throw Error("no step of the run counts", folder, "a run of at least one step");
  }
  Plan plan = read_plan(files.plan());
  plan.cluster.device = record.header.device;  // where it did run
  return simulator::own_run(folder, plan, machine, steps[steps.size() / 2]);
}

std::vector<simulator::OwnRun> runs_of(const std::string& anchor, const simulator::Machine& machine,
                                       const FeedOfPlan& feed) {
  if (const std::optional<std::size_t> equals = equals_of(anchor)) {
    const auto step = parse_quantity<Seconds>(std::string_view(anchor).substr(*equals + 1), std::string(kFlag));
    const std::string name = anchor.substr(0, *equals);
    const Plan plan = read_plan(name);
    return {simulator::own_run(name, plan, machine, step, feed(plan))};
  }
  if (fs::is_directory(anchor)) {
    return {run_of_folder(anchor, machine)};
  }
  const std::string text = read_text_file(anchor);
  if (!simulator::is_published_throughput(text)) {
    throw Error("doesn't say how long a step took", anchor,
                "for a plan, write --anchor PLAN=TIME, such as --anchor mine.json=5.7s");
  }
  return simulator::own_runs(text, anchor, machine.accelerator);
}

}  // namespace

std::string StackOption::first_flag() const {
  return !stack.empty() ? "--stack" : !anchors.empty() ? "--anchor" : !save.empty() ? "--save-stack" : "";
}

std::vector<FileArgument> files_of(const StackOption& option) {
  std::vector<FileArgument> files = {{"--stack", option.stack}};
  for (const std::string& anchor : option.anchors) {
    files.push_back({"--anchor", anchor.substr(0, equals_of(anchor).value_or(anchor.size()))});
  }
  return files;
}

void add_stack_option(CLI::App& verb, std::string& stack, const std::string& group) {
  verb.add_option("--stack", stack,
                  "Software as this profile has it: a name of models/stacks, or a file of --save-stack (default: by "
                  "the GPU)")
      ->type_name("NAME")
      ->group(group);
}

void add_anchor_options(CLI::App& verb, StackOption& option, const std::string& group) {
  verb.add_option("--anchor", option.anchors,
                  "A run of your own, which all predictions follow: PLAN=TIME of its step, a folder of `run`, or rows "
                  "as `validate` takes; repeatable")
      ->type_name("RUN")
      ->group(group);
  verb.add_option("--save-stack", option.save, "Write the anchored software profile here, for --stack")
      ->type_name("FILE")
      ->group(group);
}

StackProfile open_stack(const Accelerator& accelerator, const std::string& word) {
  StackProfile stack = fs::is_regular_file(word)
                           ? simulator::with_scale_folded(parse_stack_profile(read_text_file(word), word))
                           : simulator::find_stack(accelerator, word);
  // A family of all generations says none.
  if (!stack.generation.empty() && stack.generation != simulator::generation_of(accelerator)) {
    fmt::print(stderr, "note: --stack {} is of {}, another generation than {}\n", word, stack.generation,
               accelerator.name);
  }
  return stack;
}

StackedMachine open_stacked_machine(const Accelerator& accelerator, const Fabric& fabric, const StackOption& option,
                                    const FeedOfPlan& feed) {
  StackedMachine stacked{{accelerator, fabric, open_stack(accelerator, option.stack)}, {}};
  std::vector<simulator::OwnRun> runs;
  for (const std::string& anchor : option.anchors) {
    for (simulator::OwnRun& run : runs_of(anchor, stacked.machine, feed)) {
      runs.push_back(std::move(run));
    }
  }
  if (!runs.empty()) {
    simulator::AnchoredStack anchored = simulator::anchored_on(stacked.machine.stack, runs);
    stacked.machine.stack = std::move(anchored.profile);
    stacked.anchors = std::move(anchored.runs);
  }
  if (!option.save.empty() && runs.empty()) {
    throw Error("nothing to write: no run of your own was given", "--save-stack", "add --anchor RUN");
  }
  return stacked;
}

void save_stack(const StackOption& option, const StackProfile& profile) {
  if (!option.save.empty()) {
    write_file(option.save, stack_profile_text(profile));
  }
}

void print_anchors(const StackedMachine& stacked, bool experts) {
  for (const simulator::AnchorEffect& run : stacked.anchors) {
    if (run.known) {
      fmt::print(stderr, "note: {} counts already: {} a step measured, {} predicted now\n", run.name,
                 format_quantity(run.measured), format_quantity(run.after));
      continue;
    }
    fmt::print(stderr, "note: anchored on {}: {} a step measured, {} predicted before, {} now\n", run.name,
               format_quantity(run.measured), format_quantity(run.before), format_quantity(run.after));
  }
  if (!stacked.anchors.empty()) {
    const StackProfile& stack = stacked.machine.stack;
    const double band = experts ? std::max(stack.band, stack.band_experts) : stack.band;
    fmt::print(stderr, "note: runs of the same software are expected within {:.0f} % (4 of 5)\n",
               100.0 * (std::exp(band) - 1.0));
  }
}

nlohmann::ordered_json to_json(const std::vector<simulator::AnchorEffect>& anchors) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const simulator::AnchorEffect& run : anchors) {
    list.push_back({{"run", run.name},
                    {"measured_s", run.measured.si()},
                    {"predicted_before_s", run.before.si()},
                    {"predicted_s", run.after.si()},
                    {"known", run.known}});
  }
  return list;
}

}  // namespace trainyard::cli
