// trainyard compare: prediction beside measurement, and the term most responsible for the difference.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <variant>

#include "cli/exit_code.h"
#include "cli/json/output.h"
#include "cli/machine_option.h"
#include "cli/text/table.h"
#include "cli/verbs.h"
#include "core/error.h"
#include "core/layout/layout.h"
#include "core/plan/comparison.h"
#include "core/plan/plan.h"
#include "core/plan/run_record.h"
#include "core/plan/trace.h"
#include "core/units/format_quantity.h"
#include "executor/run/run_files.h"
#include "simulator/memory/memory_estimate.h"
#include "simulator/simulate_plan.h"
#include "simulator/step/step_costs.h"

namespace trainyard::cli {

namespace {

using nlohmann::ordered_json;

struct Options {
  std::string plan;
  std::string run;
  MachineOption machine;
};

struct Compared {
  Plan plan;
  StepComparison step;
  std::vector<RankComparison> ranks;
  std::int64_t traced_step = 0;
  std::vector<Seconds> steps;  // of the run after its first, which warms up; shortest first

  // What the prediction is held against: of many steps where there are, else of the traced one.
  Seconds measured() const { return steps.empty() ? step.measured_step : steps[steps.size() / 2]; }
};

// A run that ended well counted each rank once.
void require_counts_of_every_rank(const RunRecord& record, std::int64_t ranks, const std::string& where) {
  std::set<std::int64_t> counted;
  for (const RankCounts& counts : record.counts) {
    counted.insert(counts.rank.value());
  }
  if (std::ssize(counted) != ranks || std::ssize(record.counts) != ranks) {
    throw Error(fmt::format("has {} counts of {} of the {} ranks", record.counts.size(), counted.size(), ranks), where,
                "was the file edited? run the plan again");
  }
}

RunRecord read_record(const executor::RunFiles& files, const Program& program) {
  if (!std::filesystem::exists(files.record())) {
    throw Error("holds no run", files.folder.string(), "give the folder that `trainyard run --output` wrote");
  }
  RunRecord record = read_run_record(files.record());
  if (record.header.program_hash != program.hash) {
    throw Error("ran another program than this plan's", files.folder.string(),
                "its own plan is " + files.plan().string());
  }
  if (!std::filesystem::exists(files.trace())) {
    throw Error("has no trace.json", files.folder.string(), "only a run that ended well has one");
  }
  require_counts_of_every_rank(record, program.mesh.ranks(), files.record().string());
  return record;
}

Compared compare_files(const Options& options) {
  Compared compared;
  compared.plan = read_plan(options.plan);
  const DeviceProfile profile = read_machine_option(options.machine);
  auto outcome = simulator::simulate_plan(compared.plan, profile, simulator::TraceDetail::kSlices);
  if (const Infeasible* infeasible = std::get_if<Infeasible>(&outcome)) {
    throw Error("can't work on " + profile.name + ": " + infeasible->detail, options.plan,
                "compare with the profile of the machine that ran it");
  }
  const simulator::Simulation& simulation = std::get<simulator::Simulation>(outcome);
  const executor::RunFiles files{options.run};
  const RunRecord record = read_record(files, simulation.program);
  const std::array measured = {read_trace(files.trace())};
  compared.traced_step = measured.front().step;
  compared.steps = warm_steps(record);
  compared.step = compare_steps(simulation.program, simulation.step.trace, measured);
  const std::int64_t per_node = simulator::ranks_per_node(profile, compared.plan.layout.ranks());
  compared.ranks = compare_counts(simulation.program, simulator::runtime_memory(profile, per_node), record.counts);
  return compared;
}

double ratio(Seconds predicted, Seconds measured) { return measured.si() > 0 ? predicted / measured : 0.0; }

std::string ratio_text(double predicted, double measured) {
  return measured > 0 ? fmt::format("{:.2f}", predicted / measured) : "-";
}

std::string time_text(Seconds time) { return time.si() == 0.0 ? "-" : format_quantity(time); }

// Terms with less than half a per cent of the error, as one: the others stay readable, and all add up to the step.
std::vector<ComparedTime> with_small_ones_joined(const std::vector<ComparedTime>& terms) {
  constexpr double kSmall = 0.005;
  const auto small = [](const ComparedTime& term) { return term.name != "waiting" && term.share < kSmall; };
  std::vector<ComparedTime> shown;
  ComparedTime rest;
  int joined = 0;
  for (const ComparedTime& term : terms) {
    if (!small(term)) {
      shown.push_back(term);
      continue;
    }
    rest.predicted += term.predicted;
    rest.measured += term.measured;
    rest.share += term.share;
    ++joined;
  }
  rest.name = fmt::format("{} smaller errors", joined);
  if (joined > 0) {
    shown.insert(shown.end() - (!shown.empty() && shown.back().name == "waiting" ? 1 : 0), rest);
  }
  return shown;
}

Table times_table(const char* heading, const std::vector<ComparedTime>& times, bool shares) {
  Table table({heading, "predicted", "measured", "ratio", shares ? "share of error" : ""},
              {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  for (const ComparedTime& time : times) {
    if (time.predicted.si() == 0.0 && time.measured.si() == 0.0) {
      continue;
    }
    table.add_row({time.name, time_text(time.predicted), time_text(time.measured),
                   ratio_text(time.predicted.si(), time.measured.si()),
                   shares && time.share > 0 ? fmt::format("{:.0f} %", 100 * time.share) : ""});
  }
  return table;
}

std::string bytes_text(std::int64_t bytes) { return format_quantity(ByteCount(bytes)); }

// The rank whose process was largest stands for all.
const RankComparison& fullest(const std::vector<RankComparison>& ranks) {
  const auto resident = [](const RankComparison& rank) {
    return rank.memory.empty() ? 0 : rank.memory.back().measured.value_or(0);
  };
  return *std::max_element(ranks.begin(), ranks.end(),
                           [&](const RankComparison& a, const RankComparison& b) { return resident(a) < resident(b); });
}

Table memory_table(const RankComparison& rank) {
  Table table({fmt::format("memory of rank {}", rank.rank.value()), "predicted", "measured", "ratio"},
              {Align::kLeft, Align::kRight, Align::kRight, Align::kRight});
  for (const ComparedCount& count : rank.memory) {
    if (count.predicted == 0 && count.measured.value_or(0) == 0) {
      continue;
    }
    table.add_row(
        {count.name, bytes_text(count.predicted), count.measured ? bytes_text(*count.measured) : "",
         count.measured ? ratio_text(static_cast<double>(count.predicted), static_cast<double>(*count.measured)) : ""});
  }
  return table;
}

// By kind of collective, over all ranks. All ranks list the same kinds in the same order.
std::vector<ComparedCount> total(const std::vector<RankComparison>& ranks,
                                 const std::vector<ComparedCount> RankComparison::*counts) {
  std::vector<ComparedCount> sums = ranks.front().*counts;
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const ComparedCount& count = (ranks[rank].*counts)[i];
      sums[i].predicted += count.predicted;
      sums[i].measured = sums[i].measured.value_or(0) + count.measured.value_or(0);
    }
  }
  return sums;
}

Table traffic_table(const std::vector<RankComparison>& ranks) {
  Table table({"sent in a step, all ranks", "bytes predicted", "counted", "messages predicted", "counted"},
              {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  const std::vector<ComparedCount> sent = total(ranks, &RankComparison::sent);
  const std::vector<ComparedCount> messages = total(ranks, &RankComparison::messages);
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (sent[i].predicted != 0 || sent[i].measured.value_or(0) != 0) {
      table.add_row({sent[i].name, fmt::format("{} B", sent[i].predicted),
                     fmt::format("{} B", sent[i].measured.value_or(0)), std::to_string(messages[i].predicted),
                     std::to_string(messages[i].measured.value_or(0))});
    }
  }
  return table;
}

ordered_json to_json(const std::vector<ComparedTime>& times) {
  ordered_json list = ordered_json::array();
  for (const ComparedTime& time : times) {
    list.push_back({{"name", time.name},
                    {"predicted_s", time.predicted.si()},
                    {"measured_s", time.measured.si()},
                    {"error_s", time.error().si()},
                    {"share", time.share}});
  }
  return list;
}

ordered_json to_json(const std::vector<ComparedCount>& counts, const char* unit) {
  ordered_json list = ordered_json::array();
  for (const ComparedCount& count : counts) {
    list.push_back({{"name", count.name},
                    {std::string("predicted") + unit, count.predicted},
                    {std::string("measured") + unit, count.measured ? ordered_json(*count.measured) : ordered_json()}});
  }
  return list;
}

ordered_json to_json(const Compared& compared) {
  const StepComparison& step = compared.step;
  ordered_json object;
  object["layout"] = describe(compared.plan.layout);
  const bool many = !compared.steps.empty();
  object["step_time"] = {{"predicted_s", step.predicted_step.si()},
                         {"measured_s", compared.measured().si()},
                         {"measured_low_s", (many ? compared.steps.front() : step.measured_low).si()},
                         {"measured_high_s", (many ? compared.steps.back() : step.measured_high).si()},
                         {"ratio", ratio(step.predicted_step, compared.measured())}};
  object["traced"] = {{"step", compared.traced_step}, {"measured_s", step.measured_step.si()}};
  object["largest_error"] = step.largest ? ordered_json(step.terms[*step.largest].name) : ordered_json();
  object["terms"] = to_json(step.terms);
  object["kinds"] = to_json(step.kinds);
  object["movement"] = to_json(step.movement);
  object["bytes"] = ordered_json::array();
  object["messages"] = ordered_json::array();
  if (!compared.ranks.empty()) {
    object["bytes"] = to_json(total(compared.ranks, &RankComparison::sent), "_bytes");
    object["messages"] = to_json(total(compared.ranks, &RankComparison::messages), "");
  }
  object["ranks"] = ordered_json::array();
  for (const RankComparison& rank : compared.ranks) {
    object["ranks"].push_back({{"rank", rank.rank.value()},
                               {"memory", to_json(rank.memory, "_bytes")},
                               {"sent", to_json(rank.sent, "_bytes")},
                               {"messages", to_json(rank.messages, "")},
                               {"flops", to_json({rank.flops}, "").front()}});
  }
  return object;
}

void print_comparison(const Session& session, const Compared& compared) {
  const StepComparison& step = compared.step;
  fmt::print("{}: step predicted {}, measured {}, ratio {}\n", describe(compared.plan.layout),
             session.out.bold(format_quantity(step.predicted_step)),
             session.out.bold(format_quantity(compared.measured())),
             session.out.bold(ratio_text(step.predicted_step.si(), compared.measured().si())));
  if (!compared.steps.empty()) {
    fmt::print(
        "measured: median of the {} steps after the first, which took {} to {}; the tables show step {}, {} long\n",
        compared.steps.size(), format_quantity(compared.steps.front()), format_quantity(compared.steps.back()),
        compared.traced_step + 1, format_quantity(step.measured_step));
  }
  constexpr double kUneven = 1.3;  // longest over shortest step
  if (!compared.steps.empty() && compared.steps.back() / compared.steps.front() > kUneven) {
    fmt::print("so uneven a run had to share this machine: read the times with that in mind\n");
  }
  fmt::print("\n{}\n", times_table("where the step goes", with_small_ones_joined(step.terms), true).text(session.out));
  fmt::print("{}\n", times_table("by kind, waiting included", step.kinds, false).text(session.out));
  if (!compared.ranks.empty()) {
    fmt::print("{}\n", memory_table(fullest(compared.ranks)).text(session.out));
    const Table traffic = traffic_table(compared.ranks);
    if (!traffic.empty()) {
      fmt::print("{}\n", traffic.text(session.out));
    }
  }
  if (step.largest) {
    const ComparedTime& term = step.terms[*step.largest];
    fmt::print("Largest error: {}, predicted {}, measured {}.\n", session.out.bold(term.name),
               time_text(term.predicted), time_text(term.measured));
  }
}

int compare(const Session& session, const Options& options) {
  const Compared compared = compare_files(options);
  if (session.json) {
    print_json(to_json(compared));
  } else {
    print_comparison(session, compared);
  }
  return kOk;
}

}  // namespace

void add_compare(CLI::App& app, Session& session, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = add_verb(app, session,
                            {"compare", "Compare a run with its prediction, term by term",
                             "  trainyard compare plan.json runs/first --profile profile.json"});
  verb->add_option("PLAN", options->plan, "plan.json that was run")->required();
  verb->add_option("RUN", options->run, "Folder that `run` wrote")->required();
  add_machine_options(*verb, options->machine);
  verb->callback([options, &action] { action = [options](const Session& s) { return compare(s, *options); }; });
}

}  // namespace trainyard::cli
