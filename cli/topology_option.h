// A machine given by its graph: `--cluster` with a topology file or a known fabric, as `trainyard topology` takes.
#pragma once

#include <optional>
#include <string>

#include "core/cluster/cluster.h"
#include "core/plan/device_profile.h"
#include "simulator/collective/flow_group_cost.h"
#include "simulator/open_machine.h"
#include "simulator/throughput/machine.h"

namespace CLI {
class App;
}

namespace trainyard::cli {

struct TopologyOption {
  std::string accelerator;
  std::string routing = "auto";
  std::optional<int> seeds;
  int queue_pairs = 1;
};

void add_topology_options(CLI::App& verb, TopologyOption& option);

using simulator::names_topology;

struct Topology {
  Cluster cluster;
  simulator::Machine machine;  // its accelerator and fabric, and the usual software
  DeviceProfile profile;       // of the same two
};

// Throws Error for a cluster without GPUs, or an accelerator that no file describes.
Topology open_topology(const std::string& word, const TopologyOption& option);
simulator::FlowGroupOptions flow_options(const Cluster& cluster, const TopologyOption& option);

}  // namespace trainyard::cli
