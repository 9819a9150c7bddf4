#include "simulator/cluster_machine.h"

#include <array>
#include <utility>

#include "core/document/text_match.h"
#include "core/error.h"
#include "simulator/collective/flow_site.h"
#include "simulator/collective/flow_wire.h"
#include "simulator/throughput/machine_rates.h"
#include "simulator/throughput/stack_library.h"

namespace trainyard::simulator {

namespace {

VertexId first_gpu(const Cluster& cluster) {
  const std::vector<VertexId> gpus = cluster.gpus();
  if (gpus.empty()) {
    throw Error(
        "a cluster without GPUs", cluster.name.empty() ? "the cluster" : cluster.name,
        "it needs hosts with GPUs: a fabric of `trainyard topology --list`, a topology file that has them, or a "
        "cluster of published numbers (models/clusters)");
  }
  return gpus.front();
}

// Longer names first: "gb200" holds "b200".
constexpr std::array<std::pair<std::string_view, std::string_view>, 17> kFiles = {{{"gh200", "gh200-96"},
                                                                                   {"gb200", "gb200"},
                                                                                   {"gb300", "gb300"},
                                                                                   {"b200", "b200"},
                                                                                   {"b300", "b300"},
                                                                                   {"h200", "h200"},
                                                                                   {"h800", "h800"},
                                                                                   {"h20", "h20"},
                                                                                   {"h100 pcie", "h100-pcie"},
                                                                                   {"h100", "h100-sxm"},
                                                                                   {"a800", "a800"},
                                                                                   {"a100 pcie", "a100-pcie-80"},
                                                                                   {"a100", "a100-sxm-80"},
                                                                                   {"v100", "v100-sxm2-32"},
                                                                                   {"l40s", "l40s"},
                                                                                   {"mi325", "mi325x"},
                                                                                   {"mi300", "mi300x"}}};

}  // namespace

std::string accelerator_name(const Cluster& cluster) {
  const VertexId gpu = first_gpu(cluster);
  const DeviceTypeId type = cluster.vertex(gpu).type;
  const std::string name =
      type.at() < cluster.device_types().size() ? cluster.device_types()[type.at()].name : std::string();
  const std::string lower = lower_case(name);
  for (const auto& [part, file] : kFiles) {
    if (contains(lower, part)) {
      return std::string(file);
    }
  }
  throw Error("no accelerator file for its GPUs" + (name.empty() ? std::string() : ", '" + name + "'"),
              cluster.name.empty() ? "the cluster" : cluster.name,
              "name one of models/accelerators: --accelerator h100-sxm");
}

Fabric fabric_of(const Cluster& cluster, const std::string& accelerator) {
  const std::string source = "the graph of " + (cluster.name.empty() ? "the cluster" : cluster.name);
  const VertexId gpu = first_gpu(cluster);
  CollectiveFabric fabric(cluster);
  std::int64_t beside = 0;
  for (const VertexId other : cluster.gpus()) {
    beside += fabric.domains().of(other) == fabric.domains().of(gpu) ? 1 : 0;
  }
  BytesPerSecond nics;
  for (const VertexId nic : fabric.routes().nics(gpu)) {
    nics += nic_rate(cluster, fabric.graph(), nic, Network::kBackend);
  }
  Fabric result;
  result.name = cluster.name;
  result.accelerator = accelerator.empty() ? accelerator_name(cluster) : accelerator;
  result.ranks = {static_cast<std::int64_t>(cluster.gpus().size()), source};
  result.ranks_per_node = {beside, source};
  result.nic_bandwidth = {nics / static_cast<double>(fabric.domains().gpus_of_host(gpu)), source};
  result.nic_latency = {Seconds(), source};
  return result;
}

StackProfile usual_stack(const Accelerator& accelerator) {
  const StackLibrary library = shipped_stacks();
  const auto own = library.families.find(std::string(generation_of(accelerator)) + "-fused");
  return own != library.families.end() ? own->second : library.families.at("any-fused");
}

}  // namespace trainyard::simulator
