// trainyard simulate: what a plan's step would take on a machine, and where the time and the memory go.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/exit_code.h"
#include "cli/file_arguments.h"
#include "cli/input_options.h"
#include "cli/json/output.h"
#include "cli/long_answer.h"
#include "cli/machine_option.h"
#include "cli/stack_option.h"
#include "cli/text/table.h"
#include "cli/topology_option.h"
#include "cli/verbs.h"
#include "core/document/write_file.h"
#include "core/error.h"
#include "core/layout/layout.h"
#include "core/plan/chrome_trace.h"
#include "core/plan/plan.h"
#include "core/plan/trace.h"
#include "core/program/program.h"
#include "core/units/format_quantity.h"
#include "simulator/memory/memory_estimate.h"
#include "simulator/planner/search_machine.h"
#include "simulator/simulate_cluster.h"
#include "simulator/simulate_plan.h"

namespace trainyard::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMostColumns = 5;  // roles shown side by side; --json has them all

struct Options {
  std::string plan;
  MachineOption machine;
  TopologyOption topology;
  std::string stack;
  InputOptions input;
  std::string trace;
  std::string chrome;
};

constexpr const char* kClusterGroup = "On a cluster of published numbers";

struct Simulated {
  Plan plan;
  simulator::Simulation result;
  // What a cluster's simulation gives besides; its own simulation is `result`.
  std::optional<simulator::ClusterSimulation> on_cluster;
};

[[noreturn]] void refuse(const Infeasible& infeasible, const Options& options, const std::string& machine) {
  throw Error("can't work on " + machine + ": " + infeasible.detail, options.plan,
              "`trainyard plan` finds layouts that can");
}

using Outcome = std::variant<simulator::ClusterSimulation, Infeasible>;

Outcome on_graph(const Plan& plan, const Topology& topology, const Options& options, simulator::TraceDetail detail) {
  const simulator::FlowGroupCost groups(topology.cluster, plan.layout.ranks(), simulator::shipped_collective_models(),
                                        flow_options(topology.cluster, options.topology));
  return simulator::simulate_on_cluster(plan, topology.machine, groups, detail);
}

// Of a cluster whose nodes and NICs are known, but not its switches: as `plan` prices it.
Outcome on_curves(const Plan& plan, const AnalyticProfile& cluster, const Options& options,
                  simulator::TraceDetail detail) {
  const simulator::Machine machine{cluster.accelerator, cluster.fabric, open_stack(cluster.accelerator, options.stack)};
  return simulator::simulate_on_curves(plan, machine, *simulator::curve_groups(machine, machine), detail);
}

void take(Simulated& simulated, Outcome outcome, const Options& options, const Fabric& fabric) {
  if (const Infeasible* infeasible = std::get_if<Infeasible>(&outcome)) {
    refuse(*infeasible, options, options.machine.cluster);
  }
  simulated.on_cluster = std::get<simulator::ClusterSimulation>(std::move(outcome));
  simulator::wait_for_input(*simulated.on_cluster,
                            input_feed(options.input, simulated.plan, fabric, options.machine.cluster));
  simulated.result = std::move(simulated.on_cluster->simulation);
}

simulator::Simulation on_measured(const Plan& plan, const DeviceProfile& profile, const Options& options,
                                  simulator::TraceDetail detail) {
  auto outcome = simulator::simulate_plan(plan, profile, detail);
  if (const Infeasible* infeasible = std::get_if<Infeasible>(&outcome)) {
    refuse(*infeasible, options, profile.name);
  }
  return std::get<simulator::Simulation>(std::move(outcome));
}

Simulated simulate_file(const Options& options) {
  require_separate_files(
      {{"--trace", options.trace}, {"--chrome", options.chrome}},
      {{"PLAN", options.plan}, {"--profile", options.machine.profile}, {"--cluster", options.machine.cluster}});
  Simulated simulated;
  simulated.plan = read_plan(options.plan);
  const bool slices = !options.trace.empty() || !options.chrome.empty();
  const auto detail = slices ? simulator::TraceDetail::kSlices : simulator::TraceDetail::kNone;
  if (names_topology(options.machine.cluster)) {
    Topology topology = open_topology(options.machine.cluster, options.topology);
    topology.machine.stack = open_stack(topology.machine.accelerator, options.stack);
    take(simulated, on_graph(simulated.plan, topology, options, detail), options, topology.machine.fabric);
  } else if (const DeviceProfile profile = read_machine_option(options.machine); profile.analytic() != nullptr) {
    take(simulated, on_curves(simulated.plan, *profile.analytic(), options, detail), options,
         profile.analytic()->fabric);
  } else if (!options.stack.empty() || !options.input.first_flag().empty()) {
    throw Error("is for clusters of published numbers; a measured profile has its own",
                options.stack.empty() ? options.input.first_flag() : "--stack", "leave it out");
  } else {
    simulated.result = on_measured(simulated.plan, profile, options, detail);
  }
  simulated.result.step.trace.provenance.version = tool_version();
  return simulated;
}

std::string time_text(Nanoseconds time) { return time == 0 ? "-" : format_quantity(to_seconds(time)); }

// What the compute stream does with a step.
struct StepPart {
  const char* name;
  Nanoseconds simulator::RoleTimes::*time;
};
constexpr std::array<StepPart, 3> kStepParts = {
    {{"compute", &simulator::RoleTimes::compute},
     {"exposed communication", &simulator::RoleTimes::exposed_communication},
     {"waiting", &simulator::RoleTimes::waiting}}};

std::size_t columns_of(const Simulated& simulated) {
  return std::min(simulated.result.program.roles.size(), kMostColumns);
}

// A column a role: its kinds of instruction, then what the compute stream did with the step.
Table times_table(const Simulated& simulated) {
  const std::size_t columns = columns_of(simulated);
  std::vector<std::string> headings = {"time per step"};
  for (std::size_t role = 0; role < columns; ++role) {
    headings.push_back(fmt::format("role {} (stage {})", role, simulated.result.program.roles[role].stage));
  }
  Table table(headings, [&] {
    std::vector<Align> alignment(headings.size(), Align::kRight);
    alignment[0] = Align::kLeft;
    return alignment;
  }());
  const auto row = [&](const std::string& name, auto value) {
    std::vector<std::string> cells = {name};
    bool any = false;
    for (std::size_t role = 0; role < columns; ++role) {
      const Nanoseconds time = value(simulated.result.step.roles[role]);
      any = any || time != 0;
      cells.push_back(time_text(time));
    }
    if (any) {
      table.add_row(cells);
    }
  };
  for (int kind = 0; kind < kInstructionKinds; ++kind) {
    row(std::string(to_string(static_cast<InstructionKind>(kind))),
        [kind](const simulator::RoleTimes& times) { return times.busy[static_cast<std::size_t>(kind)]; });
  }
  table.add_rule();
  for (const StepPart& part : kStepParts) {
    row(part.name, [&part](const simulator::RoleTimes& times) { return times.*part.time; });
  }
  return table;
}

// How the table's rows below the rule make the step: those that no role has aren't there.
std::string sum_of_parts(const Simulated& simulated) {
  const std::vector<simulator::RoleTimes>& roles = simulated.result.step.roles;
  const auto shown = std::ranges::count_if(kStepParts, [&](const StepPart& part) {
    return std::any_of(roles.begin(), roles.begin() + static_cast<std::ptrdiff_t>(columns_of(simulated)),
                       [&](const simulator::RoleTimes& times) { return times.*part.time != 0; });
  });
  const bool fed =
      simulated.on_cluster &&
      simulated.on_cluster->waterfall.losses[static_cast<std::size_t>(simulator::StepLoss::kInput)] > Seconds();
  return fmt::format("{} the step{}",
                     shown == 1   ? "the last is"
                     : shown == 2 ? "the last two add up to"
                                  : "the last three add up to",
                     fed ? " before it waits for data" : "");
}

Table memory_table(const simulator::RoleMemory& memory) {
  Table table({"memory of the fullest rank", "predicted"}, {Align::kLeft, Align::kRight});
  for (int cause = 0; cause < kMemoryCauses; ++cause) {
    const ByteCount bytes = memory.by_cause[static_cast<std::size_t>(cause)];
    if (bytes.value() != 0) {
      table.add_row({std::string(to_string(static_cast<MemoryCause>(cause))), format_quantity(bytes)});
    }
  }
  table.add_rule();
  table.add_row({"total", format_quantity(memory.total)});
  return table;
}

ordered_json to_json(const simulator::RoleTimes& times, const Role& role) {
  ordered_json object;
  object["role"] = role.id.value();
  object["stage"] = role.stage;
  object["ranks"] = role.ranks;
  object["busy_s"] = ordered_json::object();
  for (int kind = 0; kind < kInstructionKinds; ++kind) {
    const Nanoseconds busy = times.busy[static_cast<std::size_t>(kind)];
    if (busy != 0) {
      object["busy_s"][std::string(to_string(static_cast<InstructionKind>(kind)))] = to_seconds(busy).si();
    }
  }
  object["compute_s"] = to_seconds(times.compute).si();
  object["exposed_communication_s"] = to_seconds(times.exposed_communication).si();
  object["waiting_s"] = to_seconds(times.waiting).si();
  return object;
}

ordered_json to_json(const simulator::RoleMemory& memory) {
  ordered_json object;
  object["role"] = memory.role.value();
  object["stage"] = memory.stage;
  object["total_bytes"] = memory.total.value();
  object["by_cause_bytes"] = ordered_json::object();
  for (int cause = 0; cause < kMemoryCauses; ++cause) {
    object["by_cause_bytes"][std::string(to_string(static_cast<MemoryCause>(cause)))] =
        memory.by_cause[static_cast<std::size_t>(cause)].value();
  }
  return object;
}

void add_cluster(ordered_json& object, const simulator::ClusterSimulation& cluster) {
  object["mfu_full_attention"] = cluster.mfu_full_attention;
  object["hfu"] = cluster.hfu;
  object["interval_80_s"] = {cluster.low.si(), cluster.high.si()};
  object["spread"] = {{"seeds", cluster.spread.seeds},
                      {"median_s", cluster.spread.median.si()},
                      {"p5_s", cluster.spread.low.si()},
                      {"p95_s", cluster.spread.high.si()}};
  object["waterfall_role"] = cluster.waterfall.role.value();
  object["waterfall_s"] = ordered_json::object();
  for (int i = 0; i < simulator::kStepLosses; ++i) {
    object["waterfall_s"][std::string(to_string(static_cast<simulator::StepLoss>(i)))] =
        cluster.waterfall.losses[static_cast<std::size_t>(i)].si();
  }
  object["notes"] = cluster.notes;
}

ordered_json to_json(const Simulated& simulated) {
  ordered_json object;
  object["layout"] = describe(simulated.plan.layout);
  if (!simulated.result.program.hash.empty()) {  // on a cluster only where the whole program is compiled, for a trace
    object["program_hash"] = simulated.result.program.hash;
  }
  object["step_time_s"] = simulated.result.estimate.step_time.si();
  object["tokens_per_second"] = simulated.result.estimate.tokens_per_second;
  object["mfu"] = simulated.result.estimate.mfu;
  if (simulated.on_cluster) {
    add_cluster(object, *simulated.on_cluster);
  }
  object["roles"] = ordered_json::array();
  for (std::size_t role = 0; role < simulated.result.program.roles.size(); ++role) {
    object["roles"].push_back(to_json(simulated.result.step.roles[role], simulated.result.program.roles[role]));
  }
  object["memory"] = ordered_json::array();
  for (const simulator::RoleMemory& memory : simulated.result.memory) {
    object["memory"].push_back(to_json(memory));
  }
  return object;
}

// From what the peak would allow to what is reached.
Table waterfall_table(const simulator::StepLosses& losses, Seconds step) {
  Table table({"where a step goes", "time", "share"}, {Align::kLeft, Align::kRight, Align::kRight});
  for (int i = 0; i < simulator::kStepLosses; ++i) {
    const Seconds part = losses[static_cast<std::size_t>(i)];
    if (std::abs(part / step) >= 0.0005) {
      table.add_row({std::string(title_of(static_cast<simulator::StepLoss>(i))), format_quantity(part),
                     fmt::format("{:.1f} %", 100.0 * (part / step))});
    }
  }
  return table;
}

void print_cluster(const Session& session, const simulator::ClusterSimulation& cluster,
                   const simulator::Estimate& estimate) {
  fmt::print("4 of 5 runs between {} and {}; MFU {:.1f} % by causal attention, {:.1f} % by full; HFU {:.1f} %\n",
             format_quantity(cluster.low), format_quantity(cluster.high), 100.0 * estimate.mfu,
             100.0 * cluster.mfu_full_attention, 100.0 * cluster.hfu);
  if (cluster.spread.seeds > 1) {
    fmt::print("over {} hash seeds: {} to {} (5th and 95th percentile)\n", cluster.spread.seeds,
               format_quantity(cluster.spread.low), format_quantity(cluster.spread.high));
  }
  Seconds step;
  for (const Seconds part : cluster.waterfall.losses) {
    step += part;
  }
  fmt::print("\n{}\n", waterfall_table(cluster.waterfall.losses, step).text(session.out));
  for (const std::string& note : cluster.notes) {
    fmt::print("Note: {}\n", note);
  }
}

void print_simulation(const Session& session, const Simulated& simulated) {
  fmt::print("{}: {} a step, {:.0f} tokens/s, MFU {:.1f} % (predicted)\n\n",
             session.out.bold(describe(simulated.plan.layout)),
             session.out.bold(format_quantity(simulated.result.estimate.step_time)),
             simulated.result.estimate.tokens_per_second, 100.0 * simulated.result.estimate.mfu);
  if (simulated.on_cluster) {
    print_cluster(session, *simulated.on_cluster, simulated.result.estimate);
  }
  fmt::print("{}", times_table(simulated).text(session.out));
  if (simulated.result.program.roles.size() > kMostColumns) {
    fmt::print("and {} more roles: see --json\n", simulated.result.program.roles.size() - kMostColumns);
  }
  fmt::print("\nKinds may run side by side; {}.\nRanks of one role have the same instructions up to peers.\n",
             sum_of_parts(simulated));
  fmt::print("\n{}", memory_table(simulator::worst(simulated.result.memory)).text(session.out));
}

int simulate(const Session& session, const Options& options) {
  std::optional<LongAnswer> answer(std::in_place, session);
  answer->show("simulating");
  const Simulated simulated = simulate_file(options);
  answer->commit([&] {
    if (!options.trace.empty()) {
      write_trace(simulated.result.step.trace, options.trace);
    }
    if (!options.chrome.empty()) {
      write_file(options.chrome, to_chrome_json(simulated.result.step.trace));
    }
  });
  answer.reset();
  if (session.json) {
    print_json(to_json(simulated));
  } else {
    print_simulation(session, simulated);
  }
  return kOk;
}

}  // namespace

void add_simulate(CLI::App& app, Session& session, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = add_verb(app, session,
                            {"simulate", "Predict a plan's step: time by kind of instruction, memory by cause",
                             "  trainyard simulate plan.json --profile profile.json --chrome timeline.json"});
  verb->add_option("PLAN", options->plan, "plan.json that `plan` wrote")->required();
  add_machine_options(*verb, options->machine);
  add_topology_options(*verb, options->topology);
  add_stack_option(*verb, options->stack, kClusterGroup);
  add_input_options(*verb, options->input, kClusterGroup);
  verb->add_option("--trace", options->trace, "Write the predicted trace here")->type_name("FILE");
  verb->add_option("--chrome", options->chrome, "Write the predicted trace here, for ui.perfetto.dev")
      ->type_name("FILE");
  verb->callback([options, &action] { action = [options](const Session& s) { return simulate(s, *options); }; });
}

}  // namespace trainyard::cli
