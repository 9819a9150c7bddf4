// Fabrics that their operators have published.
//
// Sources: Llama 3: Grattafiori et al. 2024, section 3.3.1, and Gangidi et al. 2024 (RoCE at Meta). HPN: Qian et al.
// 2024 and SimAI's generator (128 x 200G down, 240 ASW, 120 PSW, 15:1 above). MegaScale: Jiang et al. 2024, section
// 3.6. DeepSeek: DeepSeek-V3 hardware paper 2025 (multi-plane fat tree). NVL72: NVIDIA GB200 NVL72 data sheet.
#include <fmt/format.h>

#include "core/cluster/build/builders.h"
#include "core/cluster/build/clos.h"
#include "core/cluster/build/front_end.h"

namespace trainyard::build {

namespace {

const Cable kToTor = {CableType::kPassiveCopper, 3.0};
const Cable kToLeaf = {CableType::kActiveOptical, 30.0};
const Cable kToSpine = {CableType::kSingleMode, 50.0};
const Cable kToCore = {CableType::kSingleMode, 100.0};

BuilderKey front_end_key() { return {"front-end", "storage network: yes or no", "yes"}; }

std::vector<Host> add_hosts(Assembler& assembler, const HostType& type, int count) {
  assembler.cluster().reserve(static_cast<std::size_t>(count) * (vertices_of(type) + 2),
                              static_cast<std::size_t>(count) * (links_of(type) + 40));
  std::vector<Host> hosts;
  for (int i = 0; i < count; ++i) {
    hosts.push_back(add_host(assembler, type, padded("node", i, count)));
  }
  assembler.note(type.name + ": " + type.source);
  return hosts;
}

// The host type, without front-end NICs where that network isn't wanted.
HostType as_asked(HostType type, const BuildOptions& options) {
  if (!options.yes("front-end")) {
    type.front_nics = 0;
  }
  return type;
}

Cluster finish(Assembler& assembler, const std::vector<Host>& hosts, const HostType& type) {
  add_front_end(assembler, hosts, type.front_rate);
  return assembler.take();
}

std::vector<VertexId> add_row(Assembler& assembler, VertexKind kind, const std::string& prefix, const char* name,
                              int count, const char* device, std::optional<int> pod,
                              std::optional<int> plane = std::nullopt) {
  std::vector<VertexId> row;
  for (int i = 0; i < count; ++i) {
    row.push_back(assembler.add_switch(kind, prefix + padded(name, i, count), device, pod, std::nullopt, plane));
  }
  return row;
}

// 16 GPUs on a rack switch, 192 racks a pod at full bisection, pods joined at 1:7.
Cluster llama3_roce(const BuildOptions& options) {
  constexpr int kRacksPerPod = 192;
  constexpr int kHostsPerRack = 2;
  constexpr int kSpines = 16;  // a pod
  const int pods = options.integer("pods", 1, 32);
  const int tor_uplinks = options.integer("tor-uplinks", 1, 64);
  const int spine_uplinks = options.integer("spine-uplinks", 1, 400);
  Assembler assembler("llama3-roce");
  assembler.cluster().congestion_control = CongestionControl::kPfc;
  HostType type = as_asked(dgx_h100(), options);
  type.name = "Grand Teton H100";
  const std::vector<Host> hosts = add_hosts(assembler, type, pods * kRacksPerPod * kHostsPerRack);
  const Cabling to_tor{400_Gbps, kToTor, Network::kBackend};
  std::vector<VertexId> all_spines;
  for (int pod = 0; pod < pods; ++pod) {
    const std::string prefix = padded("pod", pod, pods) + "/";
    const std::size_t first_host = static_cast<std::size_t>(pod) * kRacksPerPod * kHostsPerRack;
    const std::vector<VertexId> tors =
        add_row(assembler, VertexKind::kLeaf, prefix, "leaf", kRacksPerPod, "Tomahawk 4", pod);
    for (int host = 0; host < kRacksPerPod * kHostsPerRack; ++host) {
      for (const VertexId nic : hosts[first_host + static_cast<std::size_t>(host)].nics) {
        assembler.connect(nic, tors[static_cast<std::size_t>(host / kHostsPerRack)], to_tor);
      }
    }
    const std::vector<VertexId> spines =
        add_row(assembler, VertexKind::kSpine, prefix, "spine", kSpines, "Jericho2 chassis", pod);
    assembler.connect_evenly(tors, spines, tor_uplinks, {400_Gbps, kToSpine, Network::kBackend});
    all_spines.insert(all_spines.end(), spines.begin(), spines.end());
  }
  if (pods > 1) {
    const std::vector<VertexId> cores =
        add_row(assembler, VertexKind::kCore, "", "core", spine_uplinks, "Jericho2 chassis", std::nullopt);
    assembler.connect_evenly(all_spines, cores, spine_uplinks, {400_Gbps, kToCore, Network::kBackend});
  }
  assembler.note(fmt::format(
      "16 spines a pod with {} uplinks each: assumed, the published ratio above the pod is 1:7 (here 1:{:.2f})",
      spine_uplinks, kRacksPerPod * 16.0 / (kSpines * spine_uplinks)));
  return finish(assembler, hosts, type);
}

// Each NIC has 200 Gbit/s to each of two ToRs of its rail, one a plane; the planes never meet above.
Cluster alibaba_hpn(const BuildOptions& options) {
  constexpr int kHostsPerSegment = 128;
  constexpr int kRails = 8;
  constexpr int kSpinesPerPlane = 60;
  constexpr int kSpineUplinks = 8;  // 120 x 400G down, 15:1
  const int segments = options.integer("segments", 1, 16);
  const int pods = options.integer("pods", 1, 8);
  Assembler assembler("alibaba-hpn");
  assembler.cluster().congestion_control = CongestionControl::kPfc;
  HostType type = as_asked(dgx_h100(), options);
  type.name = "HPN host";
  const std::vector<Host> hosts = add_hosts(assembler, type, pods * segments * kHostsPerSegment);
  const Cabling to_tor{200_Gbps, kToLeaf, Network::kBackend};
  const Cabling to_spine{400_Gbps, kToSpine, Network::kBackend};
  for (int plane = 0; plane < 2; ++plane) {
    std::vector<VertexId> all_spines;
    for (int pod = 0; pod < pods; ++pod) {
      const std::string prefix = pods > 1 ? fmt::format("pod{}/", pod) : "";
      std::vector<VertexId> tors;
      for (int s = 0; s < segments; ++s) {
        const int segment = pod * segments + s;
        for (int rail = 0; rail < kRails; ++rail) {
          tors.push_back(assembler.add_switch(
              VertexKind::kLeaf, fmt::format("{}{}/leaf{}.{}", prefix, padded("seg", s, segments), rail, plane),
              "Tomahawk 5", segment, rail, plane));
          for (int h = 0; h < kHostsPerSegment; ++h) {
            const Host& host =
                hosts[static_cast<std::size_t>(segment) * kHostsPerSegment + static_cast<std::size_t>(h)];
            assembler.connect(host.nics[static_cast<std::size_t>(rail)], tors.back(), to_tor);
          }
        }
      }
      const std::vector<VertexId> spines =
          add_row(assembler, VertexKind::kSpine, fmt::format("{}p{}/", prefix, plane), "spine", kSpinesPerPlane,
                  "Tomahawk 5", pods > 1 ? std::optional<int>(pod) : std::nullopt, plane);
      assembler.connect_evenly(tors, spines, kSpinesPerPlane, to_spine);
      all_spines.insert(all_spines.end(), spines.begin(), spines.end());
    }
    if (pods > 1) {
      const int cores = kSpineUplinks;
      const std::vector<VertexId> row = add_row(assembler, VertexKind::kCore, fmt::format("p{}/", plane), "core", cores,
                                                "Tomahawk 5", std::nullopt, plane);
      assembler.connect_evenly(all_spines, row, kSpineUplinks, {400_Gbps, kToCore, Network::kBackend});
    }
  }
  assembler.note("backup hosts of a segment left out; cores of several pods assumed");
  return finish(assembler, hosts, type);
}

// 64 servers share 8 ToRs, one a rail; downlinks are 400G ports split in two, so an uplink is twice a downlink.
Cluster megascale(const BuildOptions& options) {
  constexpr int kServersPerSet = 64;
  const int gpus = options.integer("gpus", 8 * kServersPerSet, 65536);
  if (gpus % (8 * kServersPerSet) != 0) {
    options.fail(fmt::format("gpus={}", gpus), "a multiple of 512: 64 servers of 8 share a set of ToRs");
  }
  Assembler assembler("megascale");
  assembler.cluster().congestion_control = CongestionControl::kPfc;
  HostType type = as_asked(dgx_a100(), options);
  type.name = "MegaScale host";
  const std::vector<Host> hosts = add_hosts(assembler, type, gpus / 8);
  LeafPlan leaf;
  leaf.hosts_per_leaf = kServersPerSet;
  leaf.device = "Tomahawk 4";
  leaf.cabling = {200_Gbps, kToLeaf, Network::kBackend};
  leaf.pod = "set";
  const Leaves by_rail = add_leaves(assembler, hosts, leaf);
  // Pods of four sets: 32 ToRs under 32 spines.
  constexpr std::size_t kSetsPerPod = 4;
  Leaves pods((by_rail[0].size() + kSetsPerPod - 1) / kSetsPerPod);
  for (const std::vector<VertexId>& rail : by_rail) {
    for (std::size_t set = 0; set < rail.size(); ++set) {
      pods[set / kSetsPerPod].push_back(rail[set]);
    }
  }
  UpperPlan upper;
  upper.spine_device = upper.core_device = "Tomahawk 4";
  upper.leaf_spine = {400_Gbps, kToSpine, Network::kBackend};
  upper.spine_core = {400_Gbps, kToCore, Network::kBackend};
  upper.group = "pod";
  add_upper_tiers(assembler, pods, upper);
  assembler.note("pods of four sets (32 ToRs, 32 spines): assumed");
  return finish(assembler, hosts, type);
}

// NIC i of every host is on plane i, a two-tier fat tree of its own; planes meet in the hosts, over NVLink.
Cluster deepseek_mpft(const BuildOptions& options) {
  const int gpus = options.integer("gpus", 8, 16384);
  if (gpus % 8 != 0) {
    options.fail(fmt::format("gpus={}", gpus), "a multiple of 8: hosts have 8 GPUs");
  }
  Assembler assembler("deepseek-mpft");
  assembler.cluster().congestion_control = CongestionControl::kCredit;
  const HostType type = as_asked(hgx_h800(), options);
  const std::vector<Host> hosts = add_hosts(assembler, type, gpus / 8);
  constexpr int kHostsPerLeaf = 32;
  const int groups = ceil_divide(static_cast<int>(hosts.size()), kHostsPerLeaf);
  for (int plane = 0; plane < 8; ++plane) {
    const std::string prefix = fmt::format("plane{}/", plane);
    std::vector<VertexId> leaves;
    for (int i = 0; i < groups; ++i) {
      leaves.push_back(assembler.add_switch(VertexKind::kLeaf, prefix + padded("leaf", i, groups), "Quantum-2 QM9700",
                                            std::nullopt, plane, plane));
    }
    for (std::size_t h = 0; h < hosts.size(); ++h) {
      const VertexId nic = hosts[h].nics[static_cast<std::size_t>(plane)];
      assembler.connect(nic, leaves[h / kHostsPerLeaf], {400_Gbps, kToLeaf, Network::kBackend});
    }
    UpperPlan upper;
    upper.spine_device = "Quantum-2 QM9700";
    upper.leaf_spine = {400_Gbps, kToSpine, Network::kBackend};
    upper.prefix = prefix;
    upper.plane = plane;
    add_upper_tiers(assembler, {leaves}, upper);
  }
  return finish(assembler, hosts, type);
}

// Racks of 18 trays of 4 GPUs in one NVLink domain; four rails join the racks.
Cluster nvl72(const BuildOptions& options) {
  constexpr int kTrays = 18;
  const int racks = options.integer("racks", 1, 512);
  Assembler assembler("nvl72");
  assembler.cluster().congestion_control = CongestionControl::kCredit;
  const HostType type = as_asked(gb200_tray(), options);
  std::vector<Host> hosts;
  for (int rack = 0; rack < racks; ++rack) {
    const std::string name = padded("rack", rack, racks);
    const VertexId nvswitch = assembler.add_switch(VertexKind::kNvswitch, name + "/nvswitch", "NVSwitch", rack);
    for (int tray = 0; tray < kTrays; ++tray) {
      hosts.push_back(add_host(assembler, type, name + "/" + padded("tray", tray, kTrays), nvswitch));
    }
  }
  LeafPlan leaf;
  leaf.hosts_per_leaf = kTrays;
  leaf.device = "Quantum-2 QM9700";
  leaf.cabling = {400_Gbps, kToLeaf, Network::kBackend};
  leaf.pod = "rack";
  UpperPlan upper;
  upper.leaf_uplinks = kTrays;
  upper.spine_device = upper.core_device = "Quantum-2 QM9700";
  upper.leaf_spine = {400_Gbps, kToSpine, Network::kBackend};
  upper.spine_core = {400_Gbps, kToCore, Network::kBackend};
  upper.group = "rail";
  add_upper_tiers(assembler, add_leaves(assembler, hosts, leaf), upper);
  assembler.note(type.name + ": " + type.source);
  assembler.note("nine NVSwitch trays of a rack are one vertex; a leaf a rail and rack: assumed");
  return finish(assembler, hosts, type);
}

}  // namespace

std::vector<Builder> production_builders() {
  return {
      {{"llama3-roce",
        "Meta's Llama 3 RoCE cluster: 16 GPUs a rack, 3,072 a pod at full bisection, 1:7 above; 24,576 H100",
        {{"pods", "pods of 3,072 GPUs", "8"},
         {"tor-uplinks", "400 Gbit/s cables from a rack switch up, 16 GPUs below", "16"},
         {"spine-uplinks", "cables from each of a pod's 16 spines up", "28"},
         front_end_key()}},
       llama3_roce},
      {{"alibaba-hpn",
        "Alibaba HPN: two ToRs a NIC on two planes, 1,024 GPUs a segment, 15,360 a pod",
        {{"segments", "segments of a pod", "15"}, {"pods", "pods", "1"}, front_end_key()}},
       alibaba_hpn},
      {{"megascale",
        "ByteDance MegaScale: 8 rails of 200 Gbit/s, 64 servers a set of ToRs, three tiers",
        {{"gpus", "A100 GPUs, a multiple of 512", "12288"}, front_end_key()}},
       megascale},
      {{"deepseek-mpft",
        "DeepSeek's multi-plane fat tree: each of 8 NICs on a two-tier network of its own",
        {{"gpus", "H800 GPUs, a multiple of 8, at most 16384", "2048"}, front_end_key()}},
       deepseek_mpft},
      {{"nvl72",
        "GB200 NVL72 racks: 72 GPUs in one NVLink domain, four InfiniBand rails between racks",
        {{"racks", "racks", "8"}, front_end_key()}},
       nvl72},
  };
}

}  // namespace trainyard::build
