// trainyard collective: what a collective reaches on a cluster by size, what holds it back and what would help.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/collective_report.h"
#include "cli/exit_code.h"
#include "cli/json/output.h"
#include "cli/rank_groups.h"
#include "cli/verbs.h"
#include "core/document/read_file.h"
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

constexpr int kMostSeeds = 1000;
constexpr int kUsualSeeds = 16;
constexpr int kFewSeeds = 4;
constexpr std::size_t kRanksTimesSeeds = 65536;  // some ten seconds

struct Options {
  std::string cluster;
  std::string node;
  std::string op = "all_reduce";
  std::string ranks;
  std::string sizes = "8B:8GiB";
  std::string type = "float";
  GroupOptions groups;
  std::string algorithm = "auto";
  std::string protocol;
  std::string routing = "auto";
  std::optional<int> seeds;
  int queue_pairs = 1;
  int channels = 2;
  bool endpoint_hash = false;
  bool same_hash = false;
  bool no_pxn = false;
  bool cross_nic = false;
  bool sharp = false;
  bool no_advice = false;
  bool queues = false;
  std::string network = "backend";
  std::vector<std::string> what_if;
  std::vector<std::string> anchors;
  std::string svg;
  std::string csv;
};

simulator::CollectiveOp parse_op(const std::string& text) {
  const auto op = simulator::collective_op(text);
  if (!op) {
    throw Error("no collective '" + text + "'", "--op",
                "one of all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, send_recv");
  }
  return *op;
}

Network parse_network(const std::string& text) {
  for (const Network network : {Network::kBackend, Network::kFrontend}) {
    if (text == to_string(network)) {
      return network;
    }
  }
  throw Error("no network '" + text + "'", "--network", "backend or frontend");
}

std::optional<simulator::NcclProtocol> parse_protocol(const std::string& text) {
  if (text.empty()) {
    return std::nullopt;
  }
  for (int i = 0; i < simulator::kNcclProtocols; ++i) {
    const auto protocol = static_cast<simulator::NcclProtocol>(i);
    if (text == to_string(protocol)) {
      return protocol;
    }
  }
  throw Error("no protocol '" + text + "'", "--protocol", "LL, LL128 or Simple");
}

simulator::SweepChoice parse_choice(const Options& options) {
  simulator::SweepChoice choice;
  choice.protocol = parse_protocol(options.protocol);
  choice.all = options.algorithm == "all";
  if (choice.all || options.algorithm == "auto") {
    return choice;
  }
  choice.algorithm = simulator::parse_flow_algorithm(options.algorithm);
  if (!choice.algorithm) {
    std::string names = "auto, all";
    for (int i = 0; i < simulator::kFlowAlgorithms; ++i) {
      names += ", " + std::string(to_string(static_cast<simulator::FlowAlgorithm>(i)));
    }
    throw Error("no algorithm '" + options.algorithm + "'", "--algorithm", "one of " + names);
  }
  return choice;
}

// Sixteen, fewer for jobs so large that each seed takes seconds.
int seeds_of(const Options& options, const CollectiveQuestion& question) {
  std::size_t ranks = 0;
  for (const std::vector<VertexId>& group : question.groups) {
    ranks += group.size();
  }
  const int affordable = static_cast<int>(kRanksTimesSeeds / std::max<std::size_t>(ranks, 1));
  return options.seeds.value_or(std::clamp(affordable, kFewSeeds, kUsualSeeds));
}

CollectiveQuestion question_of(const Options& options, const Cluster& cluster) {
  CollectiveQuestion question;
  question.op = parse_op(options.op);
  const std::vector<VertexId> gpus = cluster.gpus();
  if (gpus.size() < 2) {
    throw Error("a cluster of fewer than two GPUs", options.cluster,
                "a fabric file has no GPUs: add its hosts' inside with --node FILE");
  }
  const auto limit = static_cast<std::int32_t>(gpus.size());
  const std::string ranks = options.ranks.empty() ? fmt::format("0-{}", limit - 1) : options.ranks;
  for (const std::vector<std::int32_t>& group : make_groups(parse_ranks(ranks, limit, "--ranks"), options.groups)) {
    question.groups.emplace_back();
    for (const std::int32_t rank : group) {
      question.groups.back().push_back(gpus[static_cast<std::size_t>(rank)]);
    }
  }
  question.setup = {options.channels, options.queue_pairs, !options.no_pxn, options.cross_nic};
  question.routing.kind = options.routing == "auto" ? simulator::default_routing(cluster)
                                                    : simulator::parse_routing_kind(options.routing, "--routing");
  question.routing.hash_queue_pair = !options.endpoint_hash;
  question.routing.hash_switch = !options.same_hash;
  question.seeds = seeds_of(options, question);
  question.sharp = options.sharp;
  return question;
}

std::vector<Bytes> sizes_of(const Options& options) {
  std::vector<Bytes> sizes;
  for (const double size : parse_sizes(options.sizes, "--sizes")) {
    sizes.push_back(from_si<Bytes>(size));
  }
  return sizes;
}

struct Job {
  const Options& options;
  const Cluster& cluster;
  std::optional<Cluster> changed;
  simulator::CollectiveModels models;
  simulator::SweepChoice choice;
  std::vector<Bytes> sizes;
};

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
  take_anchors(job, fabric);
  CollectiveQuestion question = question_of(job.options, job.cluster);
  const simulator::GroupLayout first = fabric.layout(question.groups.front());
  question.series =
      simulator::anchor_series(static_cast<int>(first.nodes.size()), static_cast<int>(first.size()), question.op);
  CollectivePricer pricer(fabric, job.models, std::move(question));
  describe(report, job, pricer);
  report.rows = simulator::sweep(pricer, job.models, job.sizes, job.choice);
  const simulator::FlowAlgorithm last = report.rows.back().price.algorithm;
  report.notes = pricer.wire(last).notes;
  if (job.options.queues && report.nodes > 1) {
    report.with_queues = true;
    report.queues = pricer.queues(last, job.sizes.back());
  }
  if (job.changed) {
    add_what_if(report, job, pricer);
  }
  if (!job.options.no_advice) {
    report.advice_size = job.sizes.back();
    report.advice = simulator::advise(fabric, job.models, pricer, last, report.advice_size);
  }
  return report;
}

void print_lines(const Session& session, const std::string& before, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    fmt::print("{}{}\n", before, wrap(line, session.out.columns(), static_cast<int>(before.size())));
  }
}

void print_report(const Session& session, const Options& options, const CollectiveReport& report) {
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
    fmt::print("\n{}\n", session.out.bold(fmt::format("What would help at {}", format_quantity(report.advice_size))));
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

int collective(const Session& session, const Options& options) {
  const auto node = options.node.empty() ? std::nullopt : std::optional<std::filesystem::path>(options.node);
  const Cluster cluster = open_cluster(options.cluster, node);
  Job job = {options, cluster, {}, simulator::shipped_collective_models(), parse_choice(options), sizes_of(options)};
  if (!options.what_if.empty()) {
    job.changed = simulator::with_changes(cluster, options.what_if);
  }
  const CollectiveReport report = report_of(job);
  if (!options.svg.empty()) {
    write_file(options.svg, to_svg(report));
  }
  if (!options.csv.empty()) {
    write_file(options.csv, to_csv(report));
  }
  if (session.json) {
    print_json(to_json(report));
  } else {
    print_report(session, options, report);
  }
  return kOk;
}

void add_job_options(CLI::App& verb, Options& options) {
  verb.add_option("--op", options.op,
                  "all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, send_recv");
  verb.add_option("--ranks", options.ranks, "0-1023, 0,8,16, 0-127:8; in ring order; all by default")
      ->type_name("RANKS");
  verb.add_option("--sizes", options.sizes, "64MiB, 8B:8GiB, 1MiB:1GiB:4 (by a factor of 4)")->type_name("SIZES");
  verb.add_option("--type", options.type, "Data type, for the count of elements");
  verb.add_option("--group-size", options.groups.size,
                  "Ranks of a group, 0 for all that the stride leaves; several groups run at once")
      ->check(CLI::Range(0, 1 << 20));
  verb.add_option("--group-stride", options.groups.stride,
                  "From one rank of a group to the next: 8 for rail-wise groups")
      ->check(CLI::Range(1, 1 << 20));
  verb.add_option("--algorithm", options.algorithm, "auto (NCCL's choice), all, ring, tree, nvls, hierarchical, ...");
  verb.add_option("--protocol", options.protocol, "LL, LL128 or Simple; NCCL's choice by default");
}

void add_fabric_options(CLI::App& verb, Options& options) {
  verb.add_option("--node", options.node, "What a host looks like inside, for a file that has the fabric only")
      ->type_name("FILE");
  verb.add_option("--network", options.network, "backend or frontend");
  verb.add_option("--routing", options.routing,
                  "auto (adaptive on InfiniBand, hash on Ethernet), hash, adaptive, spray, static");
  verb.add_option("--seeds", options.seeds, "Hash seeds to sample; 16, and fewer from 4,096 ranks on")
      ->check(CLI::Range(1, kMostSeeds));
  verb.add_flag("--hash-endpoints", options.endpoint_hash, "Switches hash both ends only, not the queue pair");
  verb.add_flag("--hash-alike", options.same_hash, "All switches hash alike: tiers polarise");
  verb.add_option("--queue-pairs", options.queue_pairs, "Of a channel (NCCL_IB_QPS_PER_CONNECTION)")
      ->check(CLI::Range(1, 128));
  verb.add_option("--channels", options.channels, "NCCL channels of a NIC")->check(CLI::Range(1, 64));
  verb.add_flag("--no-pxn", options.no_pxn, "NCCL_PXN_DISABLE=1");
  verb.add_flag("--cross-nic", options.cross_nic, "NCCL_CROSS_NIC=1: rings may change their rail in a node");
  verb.add_flag("--sharp", options.sharp, "The fabric's switches reduce (SHARP)");
}

}  // namespace

void add_collective(CLI::App& app, Session& session, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = add_verb(
      app, session,
      {"collective", "Predict a collective on a cluster: bandwidth by size, what holds it back, what would help",
       "  trainyard collective superpod-h100:su=4 --op all_reduce --ranks 0-1015 --sizes 8B:8GiB"});
  verb->add_option("CLUSTER", options->cluster, "A topology file, or a known fabric: NAME[:key=value,...]")->required();
  add_job_options(*verb, *options);
  add_fabric_options(*verb, *options);
  verb->add_option("--anchor", options->anchors,
                   "Your own nccl-tests log of this cluster: moves the curves and narrows the interval")
      ->type_name("LOG");
  verb->add_option("--what-if", options->what_if,
                   "Also price it with link:A-B, switch:A or nic:A =down, =half, =cable-down, =0.25 or =flap:0.1")
      ->type_name("CHANGE");
  verb->add_flag(
      "--queues", options->queues,
      "Also list ports where bursts meet: buffer needed and there, pauses or drops, whether a deep one helps");
  verb->add_flag("--no-advice", options->no_advice, "Leave out what would help");
  verb->add_option("--svg", options->svg, "Write a plot of bus bandwidth by size here")->type_name("FILE");
  verb->add_option("--csv", options->csv, "Write the table here")->type_name("FILE");
  verb->callback([options, &action] { action = [options](const Session& s) { return collective(s, *options); }; });
}

}  // namespace trainyard::cli
