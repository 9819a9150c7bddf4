#include "cli/collective_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/file_arguments.h"
#include "core/cluster/builder.h"
#include "core/document/text_match.h"
#include "core/error.h"

namespace trainyard::cli {

namespace {

using simulator::CollectiveQuestion;

constexpr int kMostSeeds = 1000;
constexpr int kUsualSeeds = 16;
constexpr int kFewSeeds = 4;
constexpr std::size_t kRanksTimesSeeds = 65536;  // some ten seconds

simulator::CollectiveOp parse_op(const std::string& text) {
  const auto op = simulator::collective_op(text);
  if (!op) {
    throw Error("no collective '" + text + "'", "--op",
                "one of all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, send_recv");
  }
  return *op;
}

std::optional<simulator::NcclProtocol> parse_protocol(const std::string& text) {
  if (text.empty()) {
    return std::nullopt;
  }
  for (int i = 0; i < simulator::kNcclProtocols; ++i) {
    const auto protocol = static_cast<simulator::NcclProtocol>(i);
    if (lower_case(text) == lower_case(to_string(protocol))) {
      return protocol;
    }
  }
  throw Error("no protocol '" + text + "'", "--protocol", "LL, LL128 or Simple");
}

// Sixteen, fewer for jobs so large that each seed takes seconds.
int seeds_of(const CollectiveOptions& options, const CollectiveQuestion& question) {
  std::size_t ranks = 0;
  for (const std::vector<VertexId>& group : question.groups) {
    ranks += group.size();
  }
  const int affordable = static_cast<int>(kRanksTimesSeeds / std::max<std::size_t>(ranks, 1));
  return options.seeds.value_or(std::clamp(affordable, kFewSeeds, kUsualSeeds));
}

void add_job_options(CLI::App& verb, CollectiveOptions& options) {
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

void add_fabric_options(CLI::App& verb, CollectiveOptions& options) {
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

Network parse_network(const std::string& text) {
  for (const Network network : {Network::kBackend, Network::kFrontend}) {
    if (lower_case(text) == to_string(network)) {
      return network;
    }
  }
  throw Error("no network '" + text + "'", "--network", "backend or frontend");
}

simulator::SweepChoice parse_choice(const CollectiveOptions& options) {
  simulator::SweepChoice choice;
  choice.protocol = parse_protocol(options.protocol);
  const std::string name = lower_case(options.algorithm);
  choice.all = name == "all";
  if (choice.all || name == "auto") {
    return choice;
  }
  choice.algorithm = simulator::parse_flow_algorithm(name);
  if (!choice.algorithm) {
    std::string names = "auto, all";
    for (int i = 0; i < simulator::kFlowAlgorithms; ++i) {
      names += ", " + std::string(to_string(static_cast<simulator::FlowAlgorithm>(i)));
    }
    throw Error("no algorithm '" + options.algorithm + "'", "--algorithm", "one of " + names);
  }
  return choice;
}

CollectiveQuestion question_of(const CollectiveOptions& options, const Cluster& cluster) {
  CollectiveQuestion question;
  question.op = parse_op(options.op);
  const std::vector<VertexId> gpus = cluster.gpus();
  if (gpus.empty()) {
    throw Error("a cluster without GPUs", options.cluster,
                "a fabric's file has none: add its hosts' inside with --node FILE");
  }
  if (gpus.size() == 1) {
    throw Error("a cluster of one GPU: a collective needs two", options.cluster,
                names_builder(options.cluster) ? "more GPUs or hosts: `trainyard topology --list` has the fabric's keys"
                                               : "a file of several hosts, or of a host with more GPUs");
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
  const std::string routing = lower_case(options.routing);
  question.routing.kind =
      routing == "auto" ? simulator::default_routing(cluster) : simulator::parse_routing_kind(routing, "--routing");
  question.routing.hash_queue_pair = !options.endpoint_hash;
  question.routing.hash_switch = !options.same_hash;
  question.seeds = seeds_of(options, question);
  question.sharp = options.sharp;
  return question;
}

std::vector<Bytes> sizes_of(const CollectiveOptions& options) {
  std::vector<Bytes> sizes;
  for (const double size : parse_sizes(options.sizes, "--sizes")) {
    sizes.push_back(from_si<Bytes>(size));
  }
  return sizes;
}

void check_files(const CollectiveOptions& options) {
  std::vector<FileArgument> inputs = {{"CLUSTER", options.cluster}, {"--node", options.node}};
  for (const std::string& anchor : options.anchors) {
    inputs.push_back({"--anchor", anchor});
  }
  require_separate_files({{"--svg", options.svg}, {"--csv", options.csv}}, inputs);
}

void add_options(CLI::App& verb, CollectiveOptions& options) {
  verb.add_option("CLUSTER", options.cluster, "A topology file, or a known fabric: NAME[:key=value,...]")->required();
  add_job_options(verb, options);
  add_fabric_options(verb, options);
  verb.add_option("--anchor", options.anchors,
                  "Your own nccl-tests log of this cluster: moves the curves and narrows the interval")
      ->type_name("LOG");
  verb.add_option("--what-if", options.what_if,
                  "Also price it with link:A-B, switch:A or nic:A =down, =half, =cable-down, =0.25 or =flap:0.1")
      ->type_name("CHANGE");
  verb.add_flag(
      "--queues", options.queues,
      "Also list ports where bursts meet: buffer needed and there, pauses or drops, whether a deep one helps");
  verb.add_flag("--no-advice", options.no_advice, "Leave out what would help");
  verb.add_option("--svg", options.svg, "Write a plot of bus bandwidth by size here")->type_name("FILE");
  verb.add_option("--csv", options.csv, "Write the table here")->type_name("FILE");
}

}  // namespace trainyard::cli
