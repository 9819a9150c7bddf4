// Builders against the published counts (reference: NVIDIA's SuperPOD guides, the papers that production.cpp names).
#include "core/cluster/builder.h"

#include <gtest/gtest.h>

#include <ctime>
#include <map>
#include <set>

#include "core/cluster/graph.h"
#include "tests/support/error_of.h"

namespace trainyard {
namespace {

struct Counts {
  std::size_t nodes = 0, gpus = 0, leaves = 0, spines = 0, cores = 0;
  std::size_t nic_leaf = 0, leaf_spine = 0, spine_core = 0;  // cables
  friend bool operator==(const Counts&, const Counts&) = default;
};

std::ostream& operator<<(std::ostream& out, const Counts& c) {
  return out << c.nodes << " nodes, " << c.gpus << " GPUs; " << c.leaves << '/' << c.spines << '/' << c.cores
             << " switches; " << c.nic_leaf << '/' << c.leaf_spine << '/' << c.spine_core << " cables";
}

// Of the back-end network.
Counts count(const Cluster& cluster) {
  Counts counts;
  counts.nodes = cluster.nodes().size();
  counts.gpus = cluster.gpus().size();
  std::set<VertexId> seen;
  for (const Link& link : cluster.links()) {
    if (link.network != Network::kBackend) {
      continue;
    }
    const VertexKind lower = cluster.vertex(link.from).kind;
    const VertexKind upper = cluster.vertex(link.to).kind;
    const std::size_t cables = static_cast<std::size_t>(link.width);
    counts.nic_leaf += lower == VertexKind::kNic ? cables : 0;
    counts.leaf_spine += lower == VertexKind::kLeaf && upper == VertexKind::kSpine ? cables : 0;
    counts.spine_core += lower == VertexKind::kSpine ? cables : 0;
    for (const VertexId end : {link.from, link.to}) {
      if (seen.insert(end).second) {
        const VertexKind kind = cluster.vertex(end).kind;
        counts.leaves += kind == VertexKind::kLeaf ? 1 : 0;
        counts.spines += kind == VertexKind::kSpine ? 1 : 0;
        counts.cores += kind == VertexKind::kCore ? 1 : 0;
      }
    }
  }
  return counts;
}

Counts counts_of(const std::string& spec) { return count(build_cluster(spec)); }

// The cables of a switch add up to at most its ports at the rate of its fastest cable: a port can be split.
void expect_ports_suffice(const Cluster& cluster) {
  std::map<VertexId, double> used;
  std::map<VertexId, double> fastest;
  for (const Link& link : cluster.links()) {
    if (link.kind != LinkKind::kCable || link.network != Network::kBackend) {
      continue;
    }
    for (const VertexId end : {link.from, link.to}) {
      used[end] += link.bandwidth.si();
      fastest[end] = std::max(fastest[end], link.bandwidth.si() / link.width);
    }
  }
  for (const auto& [vertex, rate] : used) {
    if (is_fabric_switch(cluster.vertex(vertex).kind)) {
      ASSERT_LE(rate, cluster.type(vertex).ports.value() * fastest[vertex]) << cluster.vertex(vertex).name;
    }
  }
}

// Back-end NICs that a walk over cables from the first one reaches.
std::size_t reachable_nics(const Cluster& cluster) {
  const ClusterGraph graph(cluster);
  std::vector<bool> seen(cluster.vertices().size(), false);
  std::vector<VertexId> open;
  std::size_t nics = 0;
  for (const VertexId nic : cluster.of_kind(VertexKind::kNic)) {
    if (cluster.vertex(nic).rail) {
      open.push_back(nic);
      seen[nic.at()] = true;
      break;
    }
  }
  while (!open.empty()) {
    const VertexId at = open.back();
    open.pop_back();
    nics += cluster.vertex(at).kind == VertexKind::kNic ? 1 : 0;
    for (const Hop& hop : graph.out(at)) {
      if (cluster.link(link_of(hop.arc)).kind == LinkKind::kCable && !seen[hop.to.at()]) {
        seen[hop.to.at()] = true;
        open.push_back(hop.to);
      }
    }
  }
  return nics;
}

TEST(SuperPod, H100HasTheGuidesCounts) {
  // RA-11333 table 4: SU, nodes, GPUs, leaves, spines, spine-leaf cables; node cables are its GPUs (the guide adds four
  // of the fabric manager).
  EXPECT_EQ(counts_of("superpod-h100:su=1"), (Counts{31, 248, 8, 4, 0, 248, 256, 0}));
  EXPECT_EQ(counts_of("superpod-h100:su=2"), (Counts{63, 504, 16, 8, 0, 504, 512, 0}));
  EXPECT_EQ(counts_of("superpod-h100:su=3"), (Counts{95, 760, 24, 16, 0, 760, 768, 0}));
  EXPECT_EQ(counts_of("superpod-h100:su=4"), (Counts{127, 1016, 32, 16, 0, 1016, 1024, 0}));
}

TEST(SuperPod, B200HasTheGuidesCountsUpTo64Units) {
  // B200 guide, "larger SuperPOD" table: links of each tier are the GPUs.
  EXPECT_EQ(counts_of("superpod-b200:su=2"), (Counts{64, 512, 16, 8, 0, 512, 512, 0}));
  EXPECT_EQ(counts_of("superpod-b200:su=4"), (Counts{128, 1024, 32, 16, 0, 1024, 1024, 0}));
  EXPECT_EQ(counts_of("superpod-b200:su=8"), (Counts{256, 2048, 64, 32, 0, 2048, 2048, 0}));
  EXPECT_EQ(counts_of("superpod-b200:su=16"), (Counts{512, 4096, 128, 128, 64, 4096, 4096, 4096}));
  EXPECT_EQ(counts_of("superpod-b200:su=32"), (Counts{1024, 8192, 256, 256, 128, 8192, 8192, 8192}));
  EXPECT_EQ(counts_of("superpod-b200:su=64"), (Counts{2048, 16384, 512, 512, 256, 16384, 16384, 16384}));
}

TEST(SuperPod, B300InfiniBandHasTheGuidesCounts) {
  // B300 XDR guide, table 3. At 4 SU 16 spines would have ports enough; 18 divide a leaf's 72 uplinks.
  EXPECT_EQ(counts_of("superpod-b300:su=1"), (Counts{72, 576, 8, 4, 0, 576, 576, 0}));
  EXPECT_EQ(counts_of("superpod-b300:su=2"), (Counts{144, 1152, 16, 8, 0, 1152, 1152, 0}));
  EXPECT_EQ(counts_of("superpod-b300:su=4"), (Counts{288, 2304, 32, 18, 0, 2304, 2304, 0}));
  EXPECT_EQ(counts_of("superpod-b300:su=8"), (Counts{576, 4608, 64, 36, 0, 4608, 4608, 0}));
  EXPECT_EQ(counts_of("superpod-b300:su=18"), (Counts{1296, 10368, 144, 72, 0, 10368, 10368, 0}));
}

TEST(SuperPod, B300EthernetHasTheGuidesSwitches) {
  // B300 guide, table 3. Its 800 Gbit/s cables (one a GPU and tier) are two of 400 Gbit/s here.
  EXPECT_EQ(counts_of("superpod-b300:fabric=ethernet,su=1"), (Counts{64, 512, 16, 8, 0, 1024, 1024, 0}));
  EXPECT_EQ(counts_of("superpod-b300:fabric=ethernet,su=4"), (Counts{256, 2048, 64, 32, 0, 4096, 4096, 0}));
  EXPECT_EQ(counts_of("superpod-b300:fabric=ethernet,su=8"), (Counts{512, 4096, 128, 64, 0, 8192, 8192, 0}));
  EXPECT_EQ(counts_of("superpod-b300:fabric=ethernet,su=16"), (Counts{1024, 8192, 256, 128, 0, 16384, 16384, 0}));
}

TEST(SuperPod, A100OfSevenUnitsHas56LeavesIn8SpineGroups) {
  EXPECT_EQ(counts_of("superpod-a100:su=7"), (Counts{140, 1120, 56, 80, 28, 1120, 1120, 1120}));
}

TEST(SuperPod, EveryNicReachesEveryOtherWithinTheSwitchesPorts) {
  for (const char* spec : {"superpod-a100:su=7", "superpod-h100:su=4", "superpod-b200:su=64", "superpod-b300:su=18",
                           "superpod-b300:su=16,fabric=ethernet", "megascale", "nvl72", "llama3-roce", "alibaba-hpn",
                           "dragonfly:p=4,gpus=1", "torus", "fat-tree:hosts=1000,radix=32,tiers=3"}) {
    SCOPED_TRACE(spec);
    const Cluster cluster = build_cluster(spec);
    expect_ports_suffice(cluster);
    std::size_t nics = 0;
    for (const Vertex& vertex : cluster.vertices()) {
      nics += vertex.kind == VertexKind::kNic && vertex.rail ? 1 : 0;
    }
    EXPECT_EQ(reachable_nics(cluster), nics);
  }
}

TEST(Llama3, Has24576GpusOnRacksOf16InPodsAtOneToSeven) {
  const Cluster cluster = build_cluster("llama3-roce");
  const Counts counts = count(cluster);
  EXPECT_EQ(counts.gpus, 24576U);
  EXPECT_EQ(counts.leaves, 1536U);  // 8 pods of 192 racks
  EXPECT_EQ(counts.nic_leaf, 24576U);
  EXPECT_EQ(counts.leaf_spine, 24576U);                                   // full bisection in the pod
  EXPECT_NEAR(24576.0 / static_cast<double>(counts.spine_core), 7, 0.2);  // 3,072 isn't a multiple of 7
  EXPECT_TRUE(cluster.type(*cluster.find("pod0/spine00")).deep_buffer.value());
}

TEST(Llama3, BuildsInUnderASecondOfCpu) {
  const std::clock_t start = std::clock();
  const Cluster cluster = build_cluster("llama3-roce");
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 1.0);
  EXPECT_EQ(cluster.gpus().size(), 24576U);
  // What it holds: far below the 300 MiB that the process may take.
  std::size_t bytes = cluster.vertices().capacity() * sizeof(Vertex) + cluster.links().capacity() * sizeof(Link);
  for (const Vertex& vertex : cluster.vertices()) {
    bytes += vertex.name.capacity();
  }
  EXPECT_LT(bytes, std::size_t{60} << 20);
}

TEST(Hpn, Has240TorsAnd120SpinesOnTwoPlanes) {
  // 15,360 NICs with a 200 Gbit/s port on each plane; 240 ToRs with 60 uplinks of 400 Gbit/s.
  const Cluster cluster = build_cluster("alibaba-hpn");
  EXPECT_EQ(count(cluster), (Counts{1920, 15360, 240, 120, 0, 30720, 14400, 0}));
  for (const Link& link : cluster.links()) {
    const std::optional<std::int32_t> below = cluster.vertex(link.from).plane;
    if (below && link.network == Network::kBackend) {
      ASSERT_EQ(below, cluster.vertex(link.to).plane) << "planes meet at NICs only";
    }
  }
}

TEST(Hpn, SeveralPodsAreJoinedAtFifteenToOne) {
  // A spine has 120 cables down and 8 up; 2 pods x 120 spines x 8.
  EXPECT_EQ(counts_of("alibaba-hpn:pods=2").spine_core, 1920U);
}

TEST(MegaScale, SplitsDownlinksSoThatUplinksAreTwiceAsFast) {
  // 24 sets of 8 ToRs; 64 x 200 Gbit/s down is 32 x 400 Gbit/s up.
  const Counts counts = counts_of("megascale");
  EXPECT_EQ(counts.leaves, 192U);
  EXPECT_EQ(counts.nic_leaf, 12288U);
  EXPECT_EQ(counts.leaf_spine, 6144U);
  EXPECT_EQ(counts.spine_core, 6144U);
}

TEST(DeepSeek, NeedsThePublishedSwitches) {
  // 8 planes of 64 leaves and 32 spines of 64 ports: 768 for 16,384 GPUs.
  const Counts large = counts_of("deepseek-mpft:gpus=16384");
  EXPECT_EQ(large.leaves + large.spines, 768U);
  // 2,048 GPUs: 256 endpoints a plane, 8 leaves and 4 spines.
  const Counts built = counts_of("deepseek-mpft");
  EXPECT_EQ(built.gpus, 2048U);
  EXPECT_EQ(built.leaves + built.spines, 96U);
}

TEST(Nvl72, Joins72GpusOverOneNvlinkDomain) {
  const Cluster cluster = build_cluster("nvl72:racks=2");
  EXPECT_EQ(cluster.gpus().size(), 144U);
  const ClusterGraph graph(cluster);
  EXPECT_EQ(graph.out(*cluster.find("rack0/nvswitch")).size(), 72U);
  double total = 0.0;
  for (const Hop& hop : graph.out(*cluster.find("rack0/nvswitch"))) {
    total += 2.0 * cluster.bandwidth(hop.arc).si();
  }
  EXPECT_NEAR(total, 130e12, 1e12);  // 72 x 1.8 TB/s, as published
}

TEST(FatTree, OfThreeTiersHasThePublishedSwitches) {
  // Al-Fares: radix k: k^3/4 hosts on 5 k^2/4 switches; k = 16: 1,024 hosts, 128 leaves, 128 spines, 64 cores.
  // DeepSeek's table has k = 64: 65,536 hosts, 5,120 switches.
  EXPECT_EQ(counts_of("fat-tree:hosts=1024,gpus=1,radix=16,tiers=3"),
            (Counts{1024, 1024, 128, 128, 64, 1024, 1024, 1024}));
  const Counts large = counts_of("fat-tree:hosts=65536,gpus=1,radix=64,tiers=3");
  EXPECT_EQ(large.leaves + large.spines + large.cores, 5120U);
}

TEST(FatTree, TakesAnyOversubscription) {
  // 64 ports at 3:1: 48 down, 16 up; 48 hosts a leaf and rail.
  const Counts counts = counts_of("fat-tree:hosts=192,gpus=8,oversubscription=3");
  EXPECT_EQ(counts.leaves, 32U);
  EXPECT_EQ(counts.nic_leaf, 1536U);
  EXPECT_EQ(counts.leaf_spine, 512U);
}

TEST(RailOnly, HasNoPathBetweenRails) {
  const Cluster cluster = build_cluster("rail-only:hosts=128");
  EXPECT_EQ(reachable_nics(cluster), 128U);  // of 1,024
}

TEST(Torus, GivesEachRouterTwoNeighboursADimension) {
  // 4 x 4 x 2: two dimensions of 4 give 2 links a router, halved by sharing; one of 2 gives a single link a pair.
  const Cluster cluster = build_cluster("torus:dims=4x4x2,gpus=1");
  std::size_t between_routers = 0;
  for (const Link& link : cluster.links()) {
    between_routers += cluster.vertex(link.from).kind == VertexKind::kLeaf ? 1 : 0;
  }
  EXPECT_EQ(between_routers, 32U + 32U + 16U);
}

TEST(Dragonfly, JoinsEveryPairOfGroupsOnce) {
  // p=2 a=4 h=2: 9 groups, 36 pairs; 9 x 6 links inside groups; no router has more than h global links.
  const Cluster cluster = build_cluster("dragonfly:p=2,gpus=1");
  EXPECT_EQ(cluster.gpus().size(), 72U);
  std::map<std::pair<int, int>, int> pairs;
  std::map<VertexId, int> global;
  int local = 0;
  for (const Link& link : cluster.links()) {
    if (cluster.vertex(link.from).kind != VertexKind::kLeaf) {
      continue;
    }
    const int from = *cluster.vertex(link.from).pod;
    const int to = *cluster.vertex(link.to).pod;
    if (from == to) {
      ++local;
    } else {
      ++pairs[{from, to}];
      ++global[link.from];
      ++global[link.to];
    }
  }
  EXPECT_EQ(local, 54);
  EXPECT_EQ(pairs.size(), 36U);
  for (const auto& [pair, links] : pairs) {
    EXPECT_EQ(links, 1);
  }
  for (const auto& [router, links] : global) {
    EXPECT_EQ(links, 2);
  }
}

TEST(Dragonfly, OfDeepSeeksTableHasItsSwitches) {
  // 261,632 endpoints on 16,352 switches are p=16, a=32 in 511 groups.
  const Cluster cluster = build_cluster("dragonfly:p=16,a=32,h=16,groups=511,gpus=1");
  EXPECT_EQ(cluster.gpus().size(), 261632U);
  EXPECT_EQ(cluster.of_kind(VertexKind::kLeaf).size(), 16352U);
}

TEST(Local, IsOneHostWithARankADevice) {
  const Cluster cluster = build_cluster("local:ranks=4");
  EXPECT_EQ(cluster.gpus().size(), 4U);
  EXPECT_EQ(cluster.nodes().size(), 1U);
}

TEST(BuildCluster, NamesTheNearestBuilderOrKey) {
  EXPECT_NE(error_of([] { build_cluster("superpod-h10"); }).hint().find("superpod-h100"), std::string::npos);
  EXPECT_NE(error_of([] { build_cluster("superpod-h100:sus=4"); }).hint().find("did you mean su?"), std::string::npos);
  EXPECT_EQ(error_of([] { build_cluster("superpod-h100:su"); }).problem(), "'su' isn't key=value");
  EXPECT_EQ(error_of([] { build_cluster("superpod-h100:su=0"); }).hint(), "a whole number from 1 to 128");
  // Three tiers of 32 ports hold 32^3 / 4 = 8,192 NICs, of rail-optimised leaves of 16 hosts: 1,024 hosts of 8.
  for (const char* too_many : {"fat-tree:hosts=2048,radix=32", "fat-tree:hosts=8192,radix=32", "fat-tree:radix=2",
                               "fat-tree:hosts=64,radix=8,oversubscription=4", "rail-only:hosts=20,radix=2"}) {
    EXPECT_NE(error_of([&] { build_cluster(too_many); }).problem().find("more than three tiers"), std::string::npos)
        << too_many;
  }
  EXPECT_EQ(error_of([] { build_cluster("superpod-h100:su=1,su=2"); }).problem(), "the key 'su' is given twice");
  EXPECT_FALSE(error_of([] { build_cluster("torus:dims=4x"); }).hint().empty());
  EXPECT_FALSE(error_of([] { build_cluster("fat-tree:hosts=300000,gpus=64"); }).hint().empty());
}

TEST(BuildCluster, KnowsEveryBuilderItLists) {
  for (const BuilderInfo& info : cluster_builders()) {
    EXPECT_TRUE(names_builder(info.name + ":x=1")) << info.name;
    EXPECT_FALSE(build_cluster(info.name).gpus().empty()) << info.name << " with its fallbacks";
  }
}

TEST(BuildCluster, GivesEveryVertexANameOfItsOwn) {
  for (const BuilderInfo& info : cluster_builders()) {
    std::set<std::string> names;
    const Cluster cluster = build_cluster(info.name);
    for (const Vertex& vertex : cluster.vertices()) {
      EXPECT_TRUE(names.insert(vertex.name).second) << info.name << ": " << vertex.name;
    }
  }
}

}  // namespace
}  // namespace trainyard
