// One machine: a PCIe box, or the ranks that run on this machine's CPU.
#include <fmt/format.h>

#include "core/cluster/build/builders.h"
#include "core/cluster/build/host.h"

namespace trainyard::build {

namespace {

Cluster pcie_box(const BuildOptions& options) {
  HostType type = pcie_host();
  type.gpus = options.integer("gpus", 1, 64);
  type.gpus_per_pcie_switch = options.integer("gpus-per-switch", 0, 64);
  type.cpus = options.integer("cpus", 1, 8);
  type.pcie_generation = options.integer("pcie", 1, 6);
  type.nics = options.integer("nics", 0, 64);
  type.front_nics = 0;
  Assembler assembler("pcie-box");
  add_host(assembler, type, "node0");
  assembler.note(type.name + ": " + type.source);
  return assembler.take();
}

// Ranks of the CPU executor share memory: each is a device on the one CPU, over a link of memory's speed.
Cluster local(const BuildOptions& options) {
  const int ranks = options.integer("ranks", 1, 4096);
  const BytesPerSecond rate = options.rate("bandwidth");
  Assembler assembler("local");
  Cluster& cluster = assembler.cluster();
  const NodeId node = cluster.add_node("node0");
  const auto add = [&](VertexKind kind, const std::string& name, DeviceTypeId type) {
    Vertex vertex;
    vertex.kind = kind;
    vertex.name = "node0/" + name;
    vertex.type = type;
    vertex.node = node;
    return cluster.add_vertex(std::move(vertex));
  };
  std::vector<VertexId> devices;
  for (int rank = 0; rank < ranks; ++rank) {
    devices.push_back(add(VertexKind::kGpu, fmt::format("rank{}", rank),
                          assembler.bare_device("CPU rank", "a share of the cores, as the CPU executor uses it")));
  }
  const VertexId cpu = add(VertexKind::kCpu, "cpu0", assembler.device("CPU"));
  for (const VertexId device : devices) {
    assembler.bus(device, cpu, LinkKind::kC2c, rate, std::nullopt, 1);
  }
  assembler.note("one CPU; memory bandwidth of a rank is the key `bandwidth`, not measured");
  return assembler.take();
}

}  // namespace

std::vector<Builder> single_builders() {
  return {
      {{"pcie-box",
        "one host of PCIe cards without NVLink",
        {{"gpus", "cards", "8"},
         {"gpus-per-switch", "cards on a PCIe switch, 0 for none", "2"},
         {"cpus", "sockets", "2"},
         {"pcie", "PCIe generation", "5"},
         {"nics", "back-end NICs", "2"}}},
       pcie_box},
      {{"local",
        "ranks of the CPU executor on one machine",
        {{"ranks", "ranks", "2"}, {"bandwidth", "of memory, to one rank", "10 GB/s"}}},
       local},
  };
}

}  // namespace trainyard::build
