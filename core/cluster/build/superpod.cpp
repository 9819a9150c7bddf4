// NVIDIA DGX SuperPOD: rail-optimised, every tier 1:1.
//
// Sources, switch and cable counts by scalable unit (SU): DGX SuperPOD reference architectures for H100 (RA-11333,
// table 4: one node of the last SU of 1 to 4 gives its ports to the fabric manager), B200, B300 (Ethernet), B300 XDR
// (all docs.nvidia.com/dgx-superpod); A100 (RA-11126: 7 SU of 20 nodes, 56 leaves, 80 spines, 28 cores) from memory.
#include <fmt/format.h>
#include <algorithm>

#include "core/cluster/build/builders.h"
#include "core/cluster/build/clos.h"
#include "core/cluster/build/front_end.h"

namespace trainyard::build {

namespace {

struct SuperPod {
  HostType host;
  int nodes_per_su = 32;
  int hosts_per_leaf = 32;
  int planes = 1;       // networks that each NIC has a port on
  int radix = 64;       // ports of a switch at `rate`
  BytesPerSecond rate;  // of a NIC's port and of every cable above
  const char* device = "Quantum-2 QM9700";
  CongestionControl control = CongestionControl::kCredit;
};

Cluster build_superpod(const std::string& name, SuperPod pod, const BuildOptions& options, int nodes) {
  if (!options.yes("front-end")) {
    pod.host.front_nics = 0;
  }
  Assembler assembler(name);
  assembler.cluster().congestion_control = pod.control;
  assembler.cluster().reserve(static_cast<std::size_t>(nodes) * vertices_of(pod.host),
                              static_cast<std::size_t>(nodes) * (links_of(pod.host) + 64));
  std::vector<Host> hosts;
  for (int i = 0; i < nodes; ++i) {
    hosts.push_back(add_host(assembler, pod.host, padded("node", i, nodes)));
  }
  for (int plane = 0; plane < pod.planes; ++plane) {
    LeafPlan leaf;
    leaf.hosts_per_leaf = pod.hosts_per_leaf;
    leaf.device = pod.device;
    leaf.cabling = {pod.rate, {CableType::kMultimode, 30.0}, Network::kBackend};
    leaf.leaves_per_pod = pod.nodes_per_su / pod.hosts_per_leaf;
    leaf.pod = "su";
    UpperPlan upper;
    upper.leaf_uplinks = pod.hosts_per_leaf;
    upper.spine_radix = upper.core_radix = pod.radix;
    upper.spine_device = upper.core_device = pod.device;
    upper.leaf_spine = {pod.rate, {CableType::kSingleMode, 50.0}, Network::kBackend};
    upper.spine_core = {pod.rate, {CableType::kSingleMode, 100.0}, Network::kBackend};
    upper.group = "rail";
    if (pod.planes > 1) {
      leaf.plane = upper.plane = plane;
      upper.prefix = fmt::format("p{}/", plane);
    }
    add_upper_tiers(assembler, add_leaves(assembler, hosts, leaf), upper);
  }
  add_front_end(assembler, hosts, pod.host.front_rate);
  assembler.note(pod.host.name + ": " + pod.host.source);
  assembler.note("cable lengths: assumed, 30 m to the leaf, 50 m to the spine, 100 m to the core");
  return assembler.take();
}

// Nodes that a spec asks for: of all SUs, or as `nodes` says. `spare` is what the published count leaves out.
int node_count(const BuildOptions& options, int su, int per_su, int spare) {
  if (options.given("nodes")) {
    return options.integer("nodes", (su - 1) * per_su + 1, su * per_su);
  }
  return su * per_su - spare;
}

Cluster superpod_a100(const BuildOptions& options) {
  SuperPod pod;
  pod.host = dgx_a100();
  pod.nodes_per_su = pod.hosts_per_leaf = 20;
  pod.radix = 40;
  pod.rate = 200_Gbps;
  pod.device = "Quantum QM8790";
  const int su = options.integer("su", 1, 20);
  return build_superpod("superpod-a100", pod, options, node_count(options, su, 20, 0));
}

Cluster superpod_h100(const BuildOptions& options) {
  SuperPod pod;
  pod.host = dgx_h100();
  pod.rate = 400_Gbps;
  const int su = options.integer("su", 1, 128);
  return build_superpod("superpod-h100", pod, options, node_count(options, su, 32, su <= 4 ? 1 : 0));
}

Cluster superpod_b200(const BuildOptions& options) {
  SuperPod pod;
  pod.host = dgx_b200();
  pod.rate = 400_Gbps;
  const int su = options.integer("su", 1, 128);
  return build_superpod("superpod-b200", pod, options, node_count(options, su, 32, 0));
}

// Ethernet: each NIC is split into two ports of 400 Gbit/s on two planes. The published counts say so: 16 SU are
// 128 leaves a plane, one cable to each of 64 spines of 128 ports, which is as far as two tiers go.
Cluster superpod_b300(const BuildOptions& options) {
  SuperPod pod;
  pod.host = dgx_b300();
  if (options.choice("fabric", {"xdr", "ethernet"}) == "xdr") {
    pod.nodes_per_su = pod.hosts_per_leaf = 72;
    pod.radix = 144;
    pod.rate = 800_Gbps;
    pod.device = "Quantum-3 Q3400";
    const int su = options.integer("su", 1, 72);
    return build_superpod("superpod-b300", pod, options, node_count(options, su, 72, 0));
  }
  pod.nodes_per_su = pod.hosts_per_leaf = 64;
  pod.planes = 2;
  pod.radix = 128;
  pod.rate = 400_Gbps;
  pod.device = "Spectrum-4 SN5600, 2 x 400G";
  pod.control = CongestionControl::kPfc;
  const int su = options.integer("su", 1, 64);
  return build_superpod("superpod-b300-ethernet", pod, options, node_count(options, su, 64, 0));
}

}  // namespace

std::vector<Builder> superpod_builders() {
  const BuilderKey nodes{"nodes", "nodes, if the last SU isn't full", "all"};
  const BuilderKey front{"front-end", "storage network: yes or no", "yes"};
  const auto su = [](const char* fallback) { return BuilderKey{"su", "scalable units", fallback}; };
  return {
      {{"superpod-a100", "DGX A100, 20 nodes an SU, InfiniBand HDR", {su("7"), nodes, front}}, superpod_a100},
      {{"superpod-h100", "DGX H100, 32 nodes an SU, InfiniBand NDR", {su("4"), nodes, front}}, superpod_h100},
      {{"superpod-b200", "DGX B200, 32 nodes an SU, InfiniBand NDR", {su("4"), nodes, front}}, superpod_b200},
      {{"superpod-b300",
        "DGX B300: InfiniBand XDR, 72 nodes an SU; Ethernet, 64 nodes an SU on two planes",
        {su("8"), {"fabric", "xdr or ethernet", "xdr"}, nodes, front}},
       superpod_b300},
  };
}

}  // namespace trainyard::build
