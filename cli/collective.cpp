// trainyard collective: what a collective reaches on a cluster by size, what holds it back and what would help.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/collective_options.h"
#include "cli/collective_report.h"
#include "cli/exit_code.h"
#include "cli/json/output.h"
#include "cli/long_answer.h"
#include "cli/verbs.h"
#include "core/cluster/builder.h"
#include "core/document/read_file.h"
#include "core/document/text_match.h"
#include "core/document/write_file.h"
#include "core/error.h"
#include "core/import/open_cluster.h"
#include "core/units/format_quantity.h"
#include "simulator/collective/flow_anchor.h"
#include "simulator/fabric/fair_share.h"
#include "simulator/fabric/what_if.h"

namespace trainyard::cli {

namespace {

using simulator::CollectiveFabric;
using simulator::CollectivePricer;
using simulator::CollectiveQuestion;

// Flags that decide nothing in this job, said rather than passed over.
std::vector<std::string> idle_flags(const CollectiveOptions& options, const CollectiveReport& report) {
  std::vector<std::string> flags;
  const auto idle = [&](bool given, const char* flag) {
    if (given) {
      flags.emplace_back(flag);
    }
  };
  const bool inside = report.nodes == 1;
  const bool draws = report.routing == simulator::RoutingKind::kHash && !inside;
  idle(options.seeds && !draws, "--seeds");
  idle(options.endpoint_hash && !draws, "--hash-endpoints");
  idle(options.same_hash && !draws, "--hash-alike");
  idle(inside && lower_case(options.routing) != "auto", "--routing");
  idle(inside && options.queue_pairs != 1, "--queue-pairs");
  idle(inside && options.no_pxn, "--no-pxn");
  idle(inside && options.cross_nic, "--cross-nic");
  idle(inside && options.queues, "--queues");
  return flags;
}

std::string idle_line(const std::vector<std::string>& flags, const CollectiveReport& report) {
  return fmt::format("note: {} {} nothing: {}", fmt::join(flags, ", "), flags.size() == 1 ? "changes" : "change",
                     report.nodes == 1 ? std::string("the ranks are on one node, and nothing crosses the network")
                                       : fmt::format("{} routing draws no hash", to_string(report.routing)));
}

struct Job {
  const CollectiveOptions& options;
  const Cluster& cluster;
  std::optional<Cluster> changed;
  simulator::CollectiveModels models;
  simulator::SweepChoice choice;
  std::vector<Bytes> sizes;
  LongAnswer& answer;
};

// What is being solved, for people who wait.
void show_steps(LongAnswer& answer, CollectiveFabric& fabric, const std::string& stage) {
  fabric.on_step([&answer, stage](const simulator::WireStep& step) {
    answer.show(step.seed == 0 || step.seeds == 1 ? fmt::format("{}: {}", stage, to_string(step.algorithm))
                                                  : fmt::format("{}: {}, hash seed {} of {}", stage,
                                                                to_string(step.algorithm), step.seed, step.seeds));
  });
}

// Off their rail, ranks of a rail-only network don't reach each other: the flag that sent them there is named.
[[noreturn]] void blame_flags(const CollectiveOptions& options, const Error& error) {
  std::vector<std::string> flags;
  if (options.cross_nic) {
    flags.emplace_back("--cross-nic");
  }
  if (options.no_pxn) {
    flags.emplace_back("--no-pxn");
  }
  if (flags.empty() || !error.problem().starts_with("no path")) {
    throw Error(error);
  }
  throw Error(
      error.problem(), error.where(),
      fmt::format("{} may send data to another rail, which it doesn't reach: leave it out", fmt::join(flags, " or ")));
}

// An anchor moves the curves of its own class of machine and algorithm only.
void warn_of_idle_anchors(const Job& job, const CollectiveReport& report, CollectivePricer& pricer) {
  if (job.options.anchors.empty()) {
    return;
  }
  const bool moved = std::any_of(report.rows.begin(), report.rows.end(), [&](const simulator::SweepRow& row) {
    const auto found = job.models.curves.classes.find(pricer.curve(row.price.algorithm).shape.curve_class());
    return found != job.models.curves.classes.end() && found->second.anchored;
  });
  if (!moved) {
    fmt::print(stderr, "note: no anchor is of an operation and algorithm priced here: they change nothing\n");
  }
}

void describe(CollectiveReport& report, const Job& job, const CollectivePricer& pricer) {
  const simulator::GroupLayout& group = pricer.groups().front();
  report.type = parse_data_type(job.options.type, "--type");
  report.cluster = &job.cluster;
  report.cluster_name = job.cluster.name.empty() ? job.options.cluster : job.cluster.name;
  report.op = pricer.question().op;
  report.ranks = group.size();
  report.nodes = group.nodes.size();
  report.rails = group.rails;
  report.groups = pricer.groups().size();
  report.routing = pricer.question().routing.kind;
  report.seeds = report.routing == simulator::RoutingKind::kHash && report.nodes > 1 ? pricer.question().seeds : 1;
}

void add_what_if(CollectiveReport& report, const Job& job, CollectivePricer& pricer) {
  report.what_if = fmt::format("{}", fmt::join(job.options.what_if, ", "));
  report.changed_cluster = &*job.changed;
  CollectiveFabric fabric(*job.changed, parse_network(job.options.network));
  show_steps(job.answer, fabric, "what if");
  // What the changes assume comes after what the cluster has said before.
  const std::vector<std::string>& notes = job.changed->notes;
  for (std::size_t i = job.cluster.notes.size(); i < notes.size(); ++i) {
    if (!notes[i].starts_with("what if: ")) {
      report.notes.push_back(notes[i]);
    }
  }
  try {
    CollectivePricer changed(fabric, job.models, pricer.question(), pricer);
    report.changed = simulator::sweep(changed, job.models, job.sizes, job.choice);
  } catch (const Error& error) {  // a rank that nothing reaches any more is an answer, not a mistake
    report.cut = error.problem() + ": " + error.where();
  }
}

// A user's own logs, as anchors.
void take_anchors(Job& job, CollectiveFabric& fabric) {
  std::vector<std::pair<std::string, simulator::NcclTestsLog>> logs;
  for (const std::string& file : job.options.anchors) {
    logs.emplace_back(file, simulator::parse_nccl_tests_log(read_text_file(file), file));
  }
  job.models = simulator::anchored_on(fabric, job.models, logs, job.options.sharp);
}

CollectiveReport report_of(Job& job) {
  CollectiveReport report;
  CollectiveFabric fabric(job.cluster, parse_network(job.options.network));
  show_steps(job.answer, fabric, "as it is");
  take_anchors(job, fabric);
  CollectiveQuestion question = question_of(job.options, job.cluster);
  const simulator::GroupLayout first = fabric.layout(question.groups.front());
  question.series =
      simulator::anchor_series(static_cast<int>(first.nodes.size()), static_cast<int>(first.size()), question.op);
  CollectivePricer pricer(fabric, job.models, std::move(question));
  describe(report, job, pricer);
  try {
    report.rows = simulator::sweep(pricer, job.models, job.sizes, job.choice);
  } catch (const Error& error) {
    blame_flags(job.options, error);
  }
  warn_of_idle_anchors(job, report, pricer);
  const simulator::FlowAlgorithm last = report.rows.back().price.algorithm;
  // What was assumed in reading a file decides the numbers as much as the routes do.
  if (!names_builder(job.options.cluster) || !job.options.node.empty()) {
    report.notes = job.cluster.notes;
  }
  for (const std::string& note : pricer.wire(last).notes) {
    report.notes.push_back(note);
  }
  if (job.options.queues && report.nodes > 1) {
    report.with_queues = true;
    report.queues = pricer.queues(last, job.sizes.back());
  }
  if (job.changed) {
    add_what_if(report, job, pricer);
  }
  if (!job.options.no_advice) {
    report.advice_size = job.sizes.back();
    show_steps(job.answer, fabric, "what would help");
    report.advice = simulator::advise(fabric, job.models, pricer, last, report.advice_size);
  }
  return report;
}

void print_lines(const Session& session, const std::string& before, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    fmt::print("{}{}\n", before, wrap(line, session.out.columns(), static_cast<int>(before.size())));
  }
}

void print_report(const Session& session, const CollectiveOptions& options, const CollectiveReport& report) {
  fmt::print("{}: {}\n\n", session.out.bold(headline(report)), placement(report));
  fmt::print("{}", rows_table(report).text(session.out));
  fmt::print("bandwidths in GB/s;{} held by: what takes most of the time, the link where that is the wire\n",
             options.algorithm == "auto" || options.algorithm == "all" ? " * NCCL's choice;" : "");
  if (!report.what_if.empty()) {
    fmt::print("\n{}\n", session.out.bold(what_if_line(report)));
  }
  const std::vector<std::string> slower = slower_choices(report);
  if (!slower.empty()) {
    fmt::print("\n{}\n", session.out.bold("NCCL's choice is not the fastest"));
    print_lines(session, "  ", slower);
  }
  if (!options.no_advice) {
    const std::string seeds = report.seeds > simulator::kAdviceSeeds
                                  ? fmt::format(" (medians over {} hash seeds)", simulator::kAdviceSeeds)
                                  : std::string();
    fmt::print("\n{}{}\n", session.out.bold(fmt::format("What would help at {}", format_quantity(report.advice_size))),
               seeds);
    const Table table = advice_table(report);
    fmt::print("{}", table.empty() ? std::string("  nothing that was tried\n") : table.text(session.out, 2));
  }
  if (report.with_queues) {
    fmt::print("\n{}\n", session.out.bold("Switch buffers"));
    const std::vector<std::string> queues = queue_lines(report);
    print_lines(session, "  ", queues.empty() ? std::vector<std::string>{"no port gets more than it drains"} : queues);
  }
  if (!report.notes.empty()) {
    fmt::print("\n");
    print_lines(session, "Note: ", report.notes);
  }
  const std::string limits = fmt::format("Not in the model: {}", fmt::join(simulator::limits(), "; "));
  fmt::print("\n{}\n", session.out.dim(wrap(limits, session.out.columns(), 0)));
}

int collective(const Session& session, const CollectiveOptions& options) {
  check_files(options);
  std::optional<LongAnswer> answer(std::in_place, session);
  answer->show("reading " + options.cluster);
  const auto node = options.node.empty() ? std::nullopt : std::optional<std::filesystem::path>(options.node);
  const Cluster cluster = open_cluster(options.cluster, node);
  Job job = {options,           cluster, {}, simulator::shipped_collective_models(), parse_choice(options),
             sizes_of(options), *answer};
  if (!options.what_if.empty()) {
    job.changed = simulator::with_changes(cluster, options.what_if);
  }
  const CollectiveReport report = report_of(job);
  answer->commit([&] {
    if (!options.svg.empty()) {
      write_file(options.svg, to_svg(report));
    }
    if (!options.csv.empty()) {
      write_file(options.csv, to_csv(report));
    }
  });
  answer.reset();
  if (const std::vector<std::string> flags = idle_flags(options, report); !flags.empty()) {
    fmt::print(stderr, "{}\n", idle_line(flags, report));
  }
  if (session.json) {
    print_json(to_json(report));
  } else {
    print_report(session, options, report);
  }
  return kOk;
}

}  // namespace

void add_collective(CLI::App& app, Session& session, Action& action) {
  auto options = std::make_shared<CollectiveOptions>();
  CLI::App* verb = add_verb(
      app, session,
      {"collective", "Predict a collective on a cluster: bandwidth by size, what holds it back, what would help",
       "  trainyard collective superpod-h100:su=4 --op all_reduce --ranks 0-1015 --sizes 8B:8GiB"});
  add_options(*verb, *options);
  verb->callback([options, &action] { action = [options](const Session& s) { return collective(s, *options); }; });
}

}  // namespace trainyard::cli
