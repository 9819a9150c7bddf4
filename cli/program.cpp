// trainyard program: the instructions that a plan compiles to, for one rank.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "cli/json/output.h"
#include "cli/text/table.h"
#include "cli/verbs.h"
#include "core/error.h"
#include "core/layout/layout.h"
#include "core/plan/plan.h"
#include "core/program/program.h"
#include "core/units/format_quantity.h"

namespace trainyard::cli {

namespace {

using nlohmann::ordered_json;

struct Options {
  std::string plan;
  std::int64_t rank = 0;
  bool evaluation = false;
};

std::string optional_text(const std::optional<int>& value) { return value ? std::to_string(*value) : ""; }

std::string waits_text(const Instruction& instruction) {
  std::vector<std::string> list;
  for (const Dependency& wait : instruction.waits) {
    // "12" of this step, "12'" of the step before.
    list.push_back(std::to_string(wait.instruction.value()) +
                   std::string(static_cast<std::size_t>(-wait.step_offset), '\''));
  }
  return fmt::format("{}", fmt::join(list, " "));
}

std::string what_text(const Program& program, const Instruction& instruction) {
  if (instruction.communication) {
    const Communication& communication = *instruction.communication;
    const Group& group = program.groups[communication.group.at()];
    std::string text = fmt::format("{} {}", to_string(communication.kind), to_string(group.kind));
    if (communication.peer_stage) {
      return text + fmt::format(" stage {}", *communication.peer_stage);
    }
    return text + fmt::format(" x{} {}", group.size, to_string(communication.algorithm));
  }
  if (instruction.segment) {
    return std::string(to_string(program.segments[instruction.segment->at()].kind));
  }
  return instruction.bucket ? "bucket " + std::to_string(instruction.bucket->value()) : "";
}

ByteCount moved(const Instruction& instruction) {
  return instruction.communication ? instruction.communication->sent : instruction.work.bytes;
}

ordered_json to_json(const Program& program, const Instruction& instruction) {
  const auto optional = [](const auto& value) { return value ? ordered_json(*value) : ordered_json(); };
  ordered_json object;
  object["id"] = instruction.id.value();
  object["kind"] = to_string(instruction.kind);
  object["stream"] = to_string(instruction.stream);
  object["microbatch"] = optional(instruction.microbatch);
  object["layer"] = optional(instruction.layer);
  object["segment"] =
      instruction.segment ? ordered_json(to_string(program.segments[instruction.segment->at()].kind)) : ordered_json();
  object["bucket"] = instruction.bucket ? ordered_json(instruction.bucket->value()) : ordered_json();
  object["waits"] = ordered_json::array();
  for (const Dependency& wait : instruction.waits) {
    object["waits"].push_back({{"instruction", wait.instruction.value()}, {"step_offset", wait.step_offset}});
  }
  object["work_flops"] = instruction.work.flops.value();
  object["work_bytes"] = instruction.work.bytes.value();
  if (instruction.communication) {
    const Communication& communication = *instruction.communication;
    object["communication"] = {{"kind", to_string(communication.kind)},
                               {"algorithm", to_string(communication.algorithm)},
                               {"group", to_string(program.groups[communication.group.at()].kind)},
                               {"group_size", program.groups[communication.group.at()].size},
                               {"peer_stage", optional(communication.peer_stage)},
                               {"payload_bytes", communication.payload.value()},
                               {"sent_bytes", communication.sent.value()},
                               {"messages", communication.messages}};
  }
  return object;
}

void print_json_program(const Program& program, Rank rank) {
  const Role& role = program.role_of(rank);
  ordered_json object;
  object["program_hash"] = program.hash;
  object["ranks"] = program.mesh.ranks();
  object["roles"] = program.roles.size();
  object["rank"] = rank.value();
  object["role"] = role.id.value();
  object["stage"] = role.stage;
  object["persistent_bytes"] = role.persistent_bytes.value();
  object["arena_bytes"] = role.arena_bytes.value();
  object["instructions"] = ordered_json::array();
  for (const Instruction& instruction : role.instructions) {
    object["instructions"].push_back(to_json(program, instruction));
  }
  print_json(object);
}

void print_program(const Session& session, const Program& program, const Plan& plan, Rank rank) {
  const Role& role = program.role_of(rank);
  fmt::print("{}: rank {} of {}, role {} of {}, stage {}\n", describe(plan.layout), rank.value(), program.mesh.ranks(),
             role.id.value(), program.roles.size(), role.stage);
  fmt::print("{} instructions; memory {} from step to step, {} arena\n\n", role.instructions.size(),
             format_quantity(role.persistent_bytes), format_quantity(role.arena_bytes));
  Table table({"id", "kind", "stream", "mb", "layer", "what", "waits", "FLOPs", "bytes"},
              {Align::kRight, Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kLeft, Align::kLeft,
               Align::kRight, Align::kRight});
  for (const Instruction& instruction : role.instructions) {
    const std::int64_t flops = instruction.work.flops.value();
    table.add_row({std::to_string(instruction.id.value()), std::string(to_string(instruction.kind)),
                   std::string(to_string(instruction.stream)), optional_text(instruction.microbatch),
                   optional_text(instruction.layer), what_text(program, instruction), waits_text(instruction),
                   flops == 0 ? "" : format_quantity(instruction.work.flops), format_quantity(moved(instruction))});
  }
  fmt::print("{}", table.text(session.out));
  fmt::print(
      "\nwaits: instructions of other streams that end first; 7' is number 7 of the step before.\n"
      "bytes: sent, for a communication; through memory, for work.\n");
}

int program(const Session& session, const Options& options) {
  const Plan plan = read_plan(options.plan);
  if (options.rank < 0 || options.rank >= plan.layout.ranks()) {
    throw Error(fmt::format("no rank {} in a plan of {} ranks", options.rank, plan.layout.ranks()), "--rank",
                fmt::format("0 to {}", plan.layout.ranks() - 1));
  }
  const Program compiled = compile(plan, options.evaluation ? ProgramKind::kEvaluation : ProgramKind::kTraining);
  const Rank rank(options.rank);
  if (session.json) {
    print_json_program(compiled, rank);
  } else {
    print_program(session, compiled, plan, rank);
  }
  return kOk;
}

}  // namespace

void add_program(CLI::App& app, Session& session, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = add_verb(
      app, session, {"program", "Print the instructions of one rank's step", "  trainyard program plan.json --rank 1"});
  verb->add_option("PLAN", options->plan, "plan.json that `plan` wrote")->required();
  verb->add_option("--rank", options->rank, "Whose instructions");
  verb->add_flag("--evaluation", options->evaluation, "The forward-only program of an evaluation");
  verb->callback([options, &action] { action = [options](const Session& s) { return program(s, *options); }; });
}

}  // namespace trainyard::cli
