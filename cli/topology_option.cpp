#include "cli/topology_option.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "simulator/open_machine.h"

namespace trainyard::cli {

namespace {

constexpr int kMostSeeds = 1000;
constexpr int kUsualSeeds = 5;

}  // namespace

void add_topology_options(CLI::App& verb, TopologyOption& option) {
  verb.add_option("--accelerator", option.accelerator,
                  "With a fabric: its GPUs, a file or a name of models/accelerators; by the GPUs' name otherwise")
      ->type_name("FILE");
  verb.add_option("--routing", option.routing,
                  "With a fabric: auto (adaptive on InfiniBand, hash on Ethernet), hash, adaptive, spray, static");
  verb.add_option("--seeds", option.seeds, "With a fabric: hash seeds to price the step on; 5 by default")
      ->check(CLI::Range(1, kMostSeeds));
  verb.add_option("--queue-pairs", option.queue_pairs,
                  "With a fabric: of a channel (NCCL_IB_QPS_PER_CONNECTION), which a hash spreads")
      ->check(CLI::Range(1, 128));
}

Topology open_topology(const std::string& word, const TopologyOption& option) {
  simulator::OpenedMachine opened = simulator::open_graph(word, option.accelerator);
  return {std::move(*opened.cluster), std::move(opened.machine), std::move(opened.profile)};
}

simulator::FlowGroupOptions flow_options(const Cluster& cluster, const TopologyOption& option) {
  simulator::FlowGroupOptions options = simulator::usual_flow_options(cluster);
  if (option.routing != "auto") {
    options.routing.kind = simulator::parse_routing_kind(option.routing, "--routing");
  }
  options.setup.queue_pairs = option.queue_pairs;
  const bool draws = options.routing.kind == simulator::RoutingKind::kHash;
  options.seeds = draws ? option.seeds.value_or(kUsualSeeds) : 1;
  return options;
}

}  // namespace trainyard::cli
