#include "simulator/fabric/routing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/cluster/builder.h"
#include "tests/simulator/fabric/fabrics.h"
#include "tests/support/error_of.h"

namespace trainyard::simulator {
namespace {

using Names = std::vector<std::string>;

// Vertices of a single path, in order.
Names names_on(const Cluster& cluster, const FlowSet& set, std::size_t flow) {
  Names names;
  for (const ArcUse& use : set.uses_of_flow(flow)) {
    if (names.empty()) {
      names.push_back(cluster.vertex(cluster.tail(use.arc)).name);
    }
    EXPECT_EQ(names.back(), cluster.vertex(cluster.tail(use.arc)).name);
    names.push_back(cluster.vertex(cluster.head(use.arc)).name);
  }
  return names;
}

// What leaves a vertex less what enters it: 1 at the source, -1 at the destination, else 0.
void expect_conserved(const Cluster& cluster, const FlowSet& set) {
  for (std::size_t f = 0; f < set.flows().size(); ++f) {
    std::map<VertexId, double> balance;
    for (const ArcUse& use : set.uses_of_flow(f)) {
      balance[cluster.tail(use.arc)] += use.weight;
      balance[cluster.head(use.arc)] -= use.weight;
    }
    balance[set.flows()[f].source] -= 1.0;
    balance[set.flows()[f].destination] += 1.0;
    for (const auto& [vertex, net] : balance) {
      EXPECT_NEAR(net, 0.0, 1e-12) << "flow " << f << " at " << cluster.vertex(vertex).name;
    }
  }
}

constexpr RoutingKind kAllKinds[] = {RoutingKind::kHash, RoutingKind::kAdaptive, RoutingKind::kSpray,
                                     RoutingKind::kStatic};

TEST(Routes, EveryPolicyCarriesAllOfAFlowFromItsSourceToItsDestination) {
  for (const char* spec : {"superpod-h100:su=1", "superpod-b300:su=1,fabric=ethernet", "fat-tree:hosts=16,radix=8",
                           "torus:dims=3x3", "dragonfly:p=8,a=2,h=1", "nvl72:racks=2", "rail-only:hosts=4"}) {
    const Cluster cluster = build_cluster(spec);
    const ClusterGraph graph(cluster);
    Routes routes(cluster, graph);
    const std::vector<VertexId> gpus = cluster.gpus();
    std::vector<Flow> flows;
    for (std::size_t i = 0; i < 64; ++i) {
      // Whole hosts apart, so that rail-only can carry it too.
      const VertexId from = gpus[i * 7 % gpus.size()];
      const VertexId to = gpus[(i * 7 + 8 * (1 + i % 3)) % gpus.size()];
      if (from != to) {
        flows.push_back({.source = from, .destination = to, .bytes = 1_MiB, .queue_pair = static_cast<int>(i)});
      }
    }
    for (const RoutingKind kind : kAllKinds) {
      SCOPED_TRACE(std::string(spec) + " " + std::string(to_string(kind)));
      expect_conserved(cluster, routes.route(flows, {.kind = kind}));
    }
  }
}

TEST(Routes, InsideAHostNvlinkIsTakenAndWithoutItPcie) {
  RailFabric fabric = rails(1, 2, 1);
  const FlowSet set = routed(fabric.cluster, {{.source = fabric.gpus[0], .destination = fabric.gpus[1]}}, {});
  EXPECT_EQ(names_on(fabric.cluster, set, 0), (Names{"node0/gpu0", "node0/nvswitch", "node0/gpu1"}));

  Cluster box;
  const VertexId pcie = add(box, VertexKind::kPcieSwitch, "pcie");
  const VertexId a = add(box, VertexKind::kGpu, "a");
  const VertexId b = add(box, VertexKind::kGpu, "b");
  inside(box, a, pcie, LinkKind::kPcie, 30_GBps);
  inside(box, pcie, b, LinkKind::kPcie, 30_GBps);
  EXPECT_EQ(names_on(box, routed(box, {{.source = a, .destination = b}}, {}), 0), (Names{"a", "pcie", "b"}));
}

TEST(Routes, BetweenHostsDataGoesByTheNearestNicsAndStaysOnItsRail) {
  const RailFabric fabric = rails(2, 2, 2);
  const FlowSet set = routed(fabric.cluster, {{.source = fabric.gpus[1], .destination = fabric.gpus[3]}}, {});
  EXPECT_EQ(names_on(fabric.cluster, set, 0),
            (Names{"node0/gpu1", "node0/pcie1", "node0/nic1", "leaf1", "node1/nic1", "node1/pcie1", "node1/gpu1"}));
}

// From GPU 0 to GPU 1 of the next node: over the spine; by the relay GPU 1 the flow stays on rail 1 (PXN).
TEST(Routes, ARelayKeepsTheFlowOnTheDestinationsRail) {
  const RailFabric fabric = rails(2, 2, 1);
  const Flow flow{.source = fabric.gpus[0], .destination = fabric.gpus[3]};
  Flow relayed = flow;
  relayed.relay = fabric.gpus[1];
  const FlowSet set = routed(fabric.cluster, {flow, relayed}, {});
  EXPECT_EQ(names_on(fabric.cluster, set, 0).at(4), "spine0");
  EXPECT_EQ(names_on(fabric.cluster, set, 1),
            (Names{"node0/gpu0", "node0/nvswitch", "node0/gpu1", "node0/pcie1", "node0/nic1", "leaf1", "node1/nic1",
                   "node1/pcie1", "node1/gpu1"}));
}

// The GPU's NIC can't read its memory: to the CPU, through its memory and back, twice over the link between PCIe switch
// and CPU.
TEST(Routes, WithoutGpudirectDataBouncesThroughHostMemoryAndTheNotesSaySo) {
  Cluster cluster;
  const DeviceTypeId plain = cluster.add_device_type({.name = "GPU"});
  const DeviceTypeId old = cluster.add_device_type({.name = "old NIC", .gpudirect = false});
  const VertexId leaf = cluster.add_vertex({.kind = VertexKind::kLeaf, .name = "leaf", .type = plain});
  std::vector<VertexId> gpus;
  for (const std::string node : {"a", "b"}) {
    const VertexId gpu = cluster.add_vertex({.kind = VertexKind::kGpu, .name = node + "/gpu", .type = plain});
    const VertexId pcie = cluster.add_vertex({.kind = VertexKind::kPcieSwitch, .name = node + "/pcie", .type = plain});
    const VertexId cpu = cluster.add_vertex({.kind = VertexKind::kCpu, .name = node + "/cpu", .type = plain});
    const VertexId nic = cluster.add_vertex({.kind = VertexKind::kNic, .name = node + "/nic", .type = old});
    for (const VertexId other : {gpu, cpu, nic}) {
      inside(cluster, pcie, other, LinkKind::kPcie, 30_GBps);
    }
    cable(cluster, nic, leaf, 25_GBps);
    gpus.push_back(gpu);
  }
  const FlowSet set = routed(cluster, {{.source = gpus[0], .destination = gpus[1]}}, {});
  EXPECT_EQ(names_on(cluster, set, 0), (Names{"a/gpu", "a/pcie", "a/cpu", "a/cpu", "a/pcie", "a/nic", "leaf", "b/nic",
                                              "b/pcie", "b/cpu", "b/cpu", "b/pcie", "b/gpu"}));
  ASSERT_EQ(set.notes.size(), 1U);
  EXPECT_NE(set.notes[0].find("2 pairs of GPU and NIC"), std::string::npos) << set.notes[0];
  EXPECT_NE(set.notes[0].find("taken as 8 channels of DDR4-3200"), std::string::npos) << set.notes[0];
}

// Two hosts of eight GPUs and NICs, each on its own 60 GB/s of PCIe to the host's CPUs, no GPUDirect; every GPU sends
// to its like at the 50 GB/s of its NIC's cable.
struct BouncingHosts {
  Cluster cluster;
  std::vector<Flow> flows;
};
BouncingHosts bouncing_hosts(int cpus_of_a_host, std::optional<BytesPerSecond> memory) {
  BouncingHosts made;
  Cluster& cluster = made.cluster;
  const DeviceTypeId cpu_type = cluster.add_device_type({.name = "CPU", .memory_rate = memory});
  const DeviceTypeId nic_type = cluster.add_device_type({.name = "NIC", .gpudirect = false});
  const VertexId leaf = cluster.add_vertex({.kind = VertexKind::kLeaf, .name = "leaf", .type = cpu_type});
  for (const std::string node : {"a", "b"}) {
    std::vector<VertexId> cpus;
    for (int c = 0; c < cpus_of_a_host; ++c) {
      const std::string name = node + "/cpu" + std::to_string(c);
      cpus.push_back(cluster.add_vertex({.kind = VertexKind::kCpu, .name = name, .type = cpu_type}));
    }
    for (int i = 0; i < 8; ++i) {
      const std::string number = std::to_string(i);
      const VertexId cpu = cpus[static_cast<std::size_t>(i % cpus_of_a_host)];
      const VertexId gpu =
          cluster.add_vertex({.kind = VertexKind::kGpu, .name = node + "/gpu" + number, .type = cpu_type});
      const VertexId nic =
          cluster.add_vertex({.kind = VertexKind::kNic, .name = node + "/nic" + number, .type = nic_type});
      inside(cluster, gpu, cpu, LinkKind::kPcie, 60_GBps);
      inside(cluster, nic, cpu, LinkKind::kPcie, 60_GBps);
      cable(cluster, nic, leaf, 50_GBps);
    }
  }
  for (int i = 0; i < 8; ++i) {
    const auto gpu = [&](const char* node) { return *cluster.find(node + ("/gpu" + std::to_string(i))); };
    const auto nic = [&](const char* node) { return *cluster.find(node + ("/nic" + std::to_string(i))); };
    made.flows.push_back({.source = gpu("a"),
                          .destination = gpu("b"),
                          .source_nic = nic("a"),
                          .destination_nic = nic("b"),
                          .bytes = 1_GB});
  }
  return made;
}

// Two GPUs of a host on a CPU each, no NVLink: through an AMD CPU they read each other's memory, through another's the
// first CPU's memory holds the data in between. Behind one PCIe switch no CPU is on the way.
TEST(Routes, GpusPastACpuThatDoesNotPassPeerTrafficGoThroughItsMemory) {
  const auto way = [](const std::string& cpu_name, bool one_switch) {
    Cluster cluster;
    const DeviceTypeId plain = cluster.add_device_type({.name = "part"});
    const DeviceTypeId cpu = cluster.add_device_type({.name = cpu_name});
    const auto add = [&](VertexKind kind, const std::string& name, DeviceTypeId type) {
      return cluster.add_vertex({.kind = kind, .name = name, .type = type});
    };
    const VertexId gpus[] = {add(VertexKind::kGpu, "gpu0", plain), add(VertexKind::kGpu, "gpu1", plain)};
    const VertexId cpus[] = {add(VertexKind::kCpu, "cpu0", cpu), add(VertexKind::kCpu, "cpu1", cpu)};
    inside(cluster, cpus[0], cpus[1], LinkKind::kPcie, 60_GBps);
    if (one_switch) {
      const VertexId pcie = add(VertexKind::kPcieSwitch, "pcie", plain);
      for (const VertexId other : {gpus[0], gpus[1], cpus[0]}) {
        inside(cluster, pcie, other, LinkKind::kPcie, 30_GBps);
      }
    } else {
      inside(cluster, gpus[0], cpus[0], LinkKind::kPcie, 30_GBps);
      inside(cluster, gpus[1], cpus[1], LinkKind::kPcie, 30_GBps);
    }
    const FlowSet set = routed(cluster, {{.source = gpus[0], .destination = gpus[1]}}, {});
    return std::pair(names_on(cluster, set, 0), set.notes.size());
  };
  EXPECT_EQ(way("AMD EPYC 7742", false), std::pair(Names({"gpu0", "cpu0", "cpu1", "gpu1"}), std::size_t{0}));
  EXPECT_EQ(way("Xeon, Ice Lake", false), std::pair(Names({"gpu0", "cpu0", "cpu0", "cpu1", "gpu1"}), std::size_t{1}));
  EXPECT_EQ(way("Xeon, Ice Lake", true), std::pair(Names({"gpu0", "pcie", "gpu1"}), std::size_t{0}));
}

// Memory is crossed twice: 8 GPUs share 204.8 GB/s at 204.8 / 16 = 12.8 GB/s each, below the cable's 50 and PCIe's 60.
// Two CPUs have twice as much, and with 1 TB/s the cable holds them.
TEST(Routes, BouncingFlowsShareTheHostMemoryOfTheirCpu) {
  const auto rate_and_bottleneck = [](int cpus, std::optional<BytesPerSecond> memory) {
    const BouncingHosts hosts = bouncing_hosts(cpus, memory);
    const FairShare share = max_min_rates(hosts.cluster, routed(hosts.cluster, hosts.flows, {}));
    for (const BytesPerSecond rate : share.rate) {
      EXPECT_DOUBLE_EQ(rate.si(), share.rate[0].si());
    }
    const ArcId held = *share.bottleneck[0];
    return std::pair(share.rate[0].si(), hosts.cluster.is_memory(held)
                                             ? hosts.cluster.vertex(hosts.cluster.tail(held)).name + " memory"
                                             : std::string("a link"));
  };
  EXPECT_EQ(rate_and_bottleneck(1, std::nullopt), std::pair(12.8e9, std::string("a/cpu0 memory")));
  EXPECT_EQ(rate_and_bottleneck(1, 307.2_GBps), std::pair(19.2e9, std::string("a/cpu0 memory")));
  EXPECT_EQ(rate_and_bottleneck(2, std::nullopt), std::pair(25.6e9, std::string("a/cpu0 memory")));
  EXPECT_EQ(rate_and_bottleneck(1, 1000_GBps), std::pair(50e9, std::string("a link")));
}

// From a CPU's memory over the network to a GPU that its NIC writes to directly: read once, at the cable's 50 GB/s.
TEST(Routes, WhatStartsInHostMemoryCrossesItOnce) {
  const RailFabric fabric = rails(2, 2, 1);
  const VertexId cpu = *fabric.cluster.find("node0/cpu");
  const FlowSet set = routed(fabric.cluster, {{.source = cpu, .destination = fabric.gpus[2]}}, {});
  double crossed = 0.0;
  for (const ArcUse& use : set.uses_of_flow(0)) {
    crossed += use.arc == fabric.cluster.memory_arc(cpu) ? use.weight : 0.0;
  }
  EXPECT_EQ(crossed, 1.0);
}

// 4 spines: a sprayed flow puts a quarter on each, 1 on its host's cables.
TEST(Routes, SprayingDividesAFlowEvenly) {
  const LeafSpine fabric = leaf_spine(1, 2, 4);
  const FlowSet set = routed(fabric.cluster, {{.source = fabric.hosts[0], .destination = fabric.hosts[1]}},
                             {.kind = RoutingKind::kSpray});
  const std::vector<ArcUse> uses = set.uses_of_flow(0);
  ASSERT_EQ(uses.size(), 10U);
  EXPECT_EQ(std::count_if(uses.begin(), uses.end(), [](const ArcUse& use) { return use.weight == 0.25; }), 8);
}

// All hosts of a leaf to the hosts of another, as many spines as hosts: static routing gives each flow a spine of its
// own, so that all run at full rate.
TEST(Routes, StaticRoutingOfAPermutationNeverCollides) {
  const LeafSpine fabric = leaf_spine(4, 3, 4);
  std::vector<Flow> flows;
  for (std::size_t i = 0; i < 12; ++i) {
    flows.push_back({.source = fabric.hosts[i], .destination = fabric.hosts[(i + 4) % 12], .bytes = 1_MiB});
  }
  const FairShare share = max_min_rates(fabric.cluster, routed(fabric.cluster, flows, {.kind = RoutingKind::kStatic}));
  for (const BytesPerSecond rate : share.rate) {
    EXPECT_DOUBLE_EQ(rate.si(), 50e9);
  }
}

// Adaptive: 4 equal flows over 4 spines never meet on the way up.
TEST(Routes, AdaptiveRoutingTakesTheLeastLoadedWayUp) {
  const LeafSpine fabric = leaf_spine(4, 2, 4);
  std::vector<Flow> flows;
  for (std::size_t i = 0; i < 4; ++i) {
    flows.push_back({.source = fabric.hosts[i], .destination = fabric.hosts[4 + i], .bytes = 1_MiB});
  }
  const FlowSet set = routed(fabric.cluster, flows, {.kind = RoutingKind::kAdaptive});
  std::set<std::string> spines;
  for (std::size_t i = 0; i < 4; ++i) {
    spines.insert(names_on(fabric.cluster, set, i).at(2));
  }
  EXPECT_EQ(spines.size(), 4U);
}

std::size_t spines_used(const LeafSpine& fabric, const RoutingPolicy& policy) {
  std::vector<Flow> flows;
  for (int qp = 0; qp < 64; ++qp) {
    flows.push_back({.source = fabric.hosts[0], .destination = fabric.hosts[1], .bytes = 1_MiB, .queue_pair = qp});
  }
  const FlowSet set = routed(fabric.cluster, flows, policy);
  std::set<std::string> used;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    used.insert(names_on(fabric.cluster, set, i).at(2));
  }
  return used.size();
}

// 64 queue pairs over 8 spines: if the hash sees them all 8 are used (one is missed in 0.2 % of draws); if it sees the
// ends only, one is.
TEST(Routes, QueuePairsSpreadOnlyWhereTheHashSeesThem) {
  const LeafSpine fabric = leaf_spine(1, 2, 8);
  EXPECT_EQ(spines_used(fabric, {.seed = 3}), 8U);
  EXPECT_EQ(spines_used(fabric, {.seed = 3, .hash_queue_pair = false}), 1U);
}

// Three tiers, 4 ways at the leaf and 4 at the spine: switches that all hash alike take the same way at both, so that
// of 16 cores 4 are used; hashing differently, all.
TEST(Routes, SwitchesThatHashAlikePolarise) {
  const Cluster cluster = build_cluster("fat-tree:hosts=128,gpus=1,tiers=3,radix=8");
  const ClusterGraph graph(cluster);
  Routes routes(cluster, graph);
  const std::vector<VertexId> gpus = cluster.gpus();
  const auto cores_used = [&](bool hash_switch) {
    std::vector<Flow> flows;
    for (int qp = 0; qp < 500; ++qp) {
      flows.push_back({.source = gpus.front(), .destination = gpus.back(), .bytes = 1_MiB, .queue_pair = qp});
    }
    const FlowSet set = routes.route(flows, {.hash_switch = hash_switch});
    std::set<VertexId> cores;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      for (const ArcUse& use : set.uses_of_flow(i)) {
        if (cluster.vertex(cluster.head(use.arc)).kind == VertexKind::kCore) {
          cores.insert(cluster.head(use.arc));
        }
      }
    }
    return cores.size();
  };
  EXPECT_EQ(cores_used(true), 4 * cores_used(false));
}

TEST(Routes, EquallyNearNicsAreTakenInTurns) {
  Cluster cluster;
  const VertexId pcie = add(cluster, VertexKind::kPcieSwitch, "pcie");
  const VertexId leaf = add(cluster, VertexKind::kLeaf, "leaf");
  std::vector<VertexId> gpus;
  for (const char* name : {"gpu0", "gpu1"}) {
    gpus.push_back(add(cluster, VertexKind::kGpu, name));
    inside(cluster, gpus.back(), pcie, LinkKind::kPcie, 30_GBps);
  }
  std::vector<VertexId> nics;
  for (const char* name : {"nic0", "nic1"}) {
    nics.push_back(add(cluster, VertexKind::kNic, name));
    inside(cluster, nics.back(), pcie, LinkKind::kPcie, 30_GBps);
    cable(cluster, nics.back(), leaf, 25_GBps);
  }
  const ClusterGraph graph(cluster);
  Routes routes(cluster, graph);
  EXPECT_EQ(routes.nics(gpus[0]), (std::vector<VertexId>{nics[0], nics[1]}));
  EXPECT_EQ(routes.nics(gpus[1]), (std::vector<VertexId>{nics[1], nics[0]}));
}

TEST(Routes, WhereThereIsNoWayTheErrorNamesBothEnds) {
  Cluster cluster;
  std::vector<VertexId> nics;
  for (const char* name : {"a", "b"}) {
    nics.push_back(add(cluster, VertexKind::kNic, name));
    cable(cluster, nics.back(), add(cluster, VertexKind::kLeaf, std::string("leaf-") + name), 25_GBps);
  }
  const Error none = error_of([&] { routed(cluster, {{.source = nics[0], .destination = nics[1]}}, {}); });
  EXPECT_EQ(none.problem(), "no path over backend");
  EXPECT_EQ(none.where(), "a - b");
  EXPECT_EQ(error_of([&] { routed(cluster, {{.source = nics[0], .destination = nics[0]}}, {}); }).where(), "a");
  const VertexId gpu = add(cluster, VertexKind::kGpu, "gpu");
  EXPECT_EQ(error_of([&] { routed(cluster, {{.source = gpu, .destination = nics[0]}}, {}); }).problem(),
            "no NIC on the backend network");
}

TEST(Routes, NamesOfPoliciesAreReadBack) {
  for (const RoutingKind kind : kAllKinds) {
    EXPECT_EQ(parse_routing_kind(to_string(kind), "--routing"), kind);
  }
  EXPECT_EQ(error_of([] { parse_routing_kind("ecmp", "--routing"); }).where(), "--routing");
}

}  // namespace
}  // namespace trainyard::simulator
