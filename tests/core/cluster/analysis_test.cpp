// Tiers, cuts, equal paths, single points of failure and lint, on fabrics whose answers follow by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "core/cluster/analysis/bisection.h"
#include "core/cluster/analysis/cut_points.h"
#include "core/cluster/analysis/difference.h"
#include "core/cluster/analysis/equal_paths.h"
#include "core/cluster/analysis/lint.h"
#include "core/cluster/analysis/node_shape.h"
#include "core/cluster/analysis/tiers.h"
#include "core/cluster/builder.h"

namespace trainyard {
namespace {

// A copy without some links: what a cable pulled out leaves.
template <class Keep>
Cluster without_links(const Cluster& cluster, const Keep& keep) {
  Cluster result;
  result.name = cluster.name;
  for (const DeviceType& type : cluster.device_types()) {
    result.add_device_type(type);
  }
  for (const Cable& cable : cluster.cables()) {
    result.add_cable(cable);
  }
  for (const std::string& node : cluster.nodes()) {
    result.add_node(node);
  }
  for (const Vertex& vertex : cluster.vertices()) {
    result.add_vertex(vertex);
  }
  for (const Link& link : cluster.links()) {
    if (keep(link)) {
      result.add_link(link);
    }
  }
  return result;
}

const Tier& tier(const std::vector<Tier>& all, VertexKind kind) {
  const auto found = std::find_if(all.begin(), all.end(), [kind](const Tier& t) { return t.kind == kind; });
  EXPECT_NE(found, all.end());
  return *found;
}

TEST(Tiers, OfLlama3AreFullInThePodAndOneToSevenAbove) {
  const std::vector<Tier> all = tiers(build_cluster("llama3-roce"), Network::kBackend);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(tier(all, VertexKind::kNic).count, 24576U);
  EXPECT_DOUBLE_EQ(tier(all, VertexKind::kLeaf).oversubscription().value(), 1.0);
  EXPECT_NEAR(tier(all, VertexKind::kSpine).oversubscription().value(), 3072.0 / 448.0, 1e-9);
  EXPECT_FALSE(tier(all, VertexKind::kCore).oversubscription());
}

TEST(Tiers, OfHpnAreTheTorsPublishedRatio) {
  // 128 x 200 down, 60 x 400 up.
  const std::vector<Tier> all = tiers(build_cluster("alibaba-hpn:pods=2"), Network::kBackend);
  EXPECT_NEAR(tier(all, VertexKind::kLeaf).oversubscription().value(), 1.067, 0.001);
  EXPECT_DOUBLE_EQ(tier(all, VertexKind::kSpine).oversubscription().value(), 15.0);
}

TEST(Tiers, KeepFrontEndAndBackEndApart) {
  const Cluster cluster = build_cluster("superpod-h100:su=1");
  const std::vector<Tier> front = tiers(cluster, Network::kFrontend);
  EXPECT_EQ(tier(front, VertexKind::kNic).count, 62U);  // two a node
  EXPECT_EQ(tier(front, VertexKind::kStorage).count, 2U);
  EXPECT_EQ(tier(tiers(cluster, Network::kBackend), VertexKind::kLeaf).count, 8U);
}

TEST(Rails, AreEightOnASuperPodAndMixedOnLlama3sRackSwitches) {
  EXPECT_EQ(rails(build_cluster("superpod-h100")).count, 8);
  EXPECT_TRUE(rails(build_cluster("superpod-h100")).optimised);
  EXPECT_EQ(rails(build_cluster("llama3-roce:pods=1")).count, 8);
  EXPECT_FALSE(rails(build_cluster("llama3-roce:pods=1")).optimised);
}

TEST(Bisection, OfAFullFatTreeIsHalfItsPorts) {
  // 64 hosts x 8 x 50 GB/s a half.
  const Bisection cut = bisection(build_cluster("superpod-b200:su=4")).value();
  EXPECT_DOUBLE_EQ(cut.bandwidth.si(), 64.0 * 8 * 50e9);
  EXPECT_DOUBLE_EQ(cut.share(), 1.0);
}

TEST(Bisection, OfLlama3IsWhatThePodsHaveUpwards) {
  // Halves are four pods each: 4 x 448 cables of 50 GB/s.
  const std::clock_t start = std::clock();
  const Bisection cut = bisection(build_cluster("llama3-roce")).value();
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 3.0);
  EXPECT_DOUBLE_EQ(cut.bandwidth.si(), 4.0 * 448 * 50e9);
  EXPECT_NEAR(cut.share(), 1.0 / 6.857, 1e-3);
  std::int64_t cables = 0;
  for (const CutLinks& links : cut.cut) {
    EXPECT_TRUE(links.from == VertexKind::kCore || links.to == VertexKind::kCore);
    cables += links.cables;
  }
  EXPECT_EQ(cables, 4 * 448);
}

TEST(Bisection, OfARingOfRoutersIsTwoCables) {
  // A ring cut in two halves is cut at two places.
  const Bisection cut = bisection(build_cluster("torus:dims=8,gpus=1")).value();
  EXPECT_DOUBLE_EQ(cut.bandwidth.si(), 2 * 50e9);
  EXPECT_DOUBLE_EQ(cut.share(), 0.5);
}

TEST(Bisection, OfATorusIsTwoLayersOfItsLongestDimension) {
  // 4 x 4 x 4 in rank order: halves are slabs of the last dimension, 16 routers wide, cut twice.
  EXPECT_DOUBLE_EQ(bisection(build_cluster("torus:dims=4x4x4,gpus=2")).value().bandwidth.si(), 32 * 50e9);
}

TEST(Bisection, OfOneHostIsItsNvlink) {
  // Four GPUs of 450 GB/s; beside it PCIe over the link between the sockets, 22 GB/s, and four NICs over the leaf.
  Cluster one = build_cluster("fat-tree:hosts=1");
  const Bisection cut = bisection(one).value();
  EXPECT_DOUBLE_EQ(cut.bandwidth.si(), 4 * 450e9 + 22e9 + 4 * 50e9);
}

TEST(Bisection, OfAFabricWithoutGpusHalvesItsHosts) {
  // Four hosts with a NIC each on one switch, as a fabric's file has them.
  Cluster cluster;
  const DeviceTypeId type = cluster.add_device_type({});
  const VertexId leaf = cluster.add_vertex({VertexKind::kLeaf, "leaf", type, {}, {}, {}, {}});
  for (const char* name : {"a", "b", "c", "d"}) {
    Link link;
    link.from = cluster.add_vertex({VertexKind::kNic, name, type, cluster.add_node(name), {}, {}, {}});
    link.to = leaf;
    link.network = Network::kBackend;
    link.bandwidth = link.reverse_bandwidth = 50_GBps;
    cluster.add_link(link);
  }
  EXPECT_DOUBLE_EQ(bisection(cluster).value().bandwidth.si(), 100e9);
}

TEST(Bisection, IsAbsentForOneGpu) { EXPECT_FALSE(bisection(build_cluster("local:ranks=1"))); }

TEST(EqualPaths, CountSpinesAndBundles) {
  // 4 SU: same leaf 1 path of 2 cables; elsewhere 16 spines, two cables to each, both ways: 2 x 2 x 16.
  const Cluster cluster = build_cluster("superpod-h100:su=4");
  const ClusterGraph graph(cluster);
  const auto nic = [&](const char* name) { return cluster.find(name).value(); };
  const EqualPaths same = equal_paths(cluster, graph, nic("node000/nic0"), nic("node001/nic0"));
  EXPECT_EQ(same.cables, 2);
  EXPECT_EQ(same.paths, 1.0);
  const EqualPaths other = equal_paths(cluster, graph, nic("node000/nic0"), nic("node001/nic1"));
  EXPECT_EQ(other.cables, 4);
  EXPECT_EQ(other.paths, 64.0);
}

TEST(EqualPaths, GroupRanksByDistance) {
  // Llama 3 from rank 0: 8 other GPUs on its rack switch, the pod over 16 spines, other pods over cores.
  const Cluster cluster = build_cluster("llama3-roce:pods=2");
  const std::vector<PathGroup> groups = path_groups(cluster, ClusterGraph(cluster), Rank(0));
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].ranks, 8);
  EXPECT_EQ(groups[0].paths.cables, 2);
  EXPECT_EQ(groups[1].ranks, 3072 - 16);
  EXPECT_EQ(groups[1].paths.paths, 16.0);
  EXPECT_EQ(groups[2].ranks, 3072);
  EXPECT_EQ(groups[2].paths.cables, 6);
  EXPECT_EQ(groups[2].paths.paths, 16.0 * 28 * 16);
}

TEST(EqualPaths, AreNoneBetweenRailsThatDoNotMeet) {
  const Cluster cluster = build_cluster("rail-only:hosts=4");
  const std::vector<PathGroup> groups = path_groups(cluster, ClusterGraph(cluster), Rank(0));
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].ranks, 3);  // same rail
  EXPECT_EQ(groups[1].paths.cables, 0);
  EXPECT_EQ(groups[1].ranks, 21);
}

TEST(CutPoints, OfARailFabricAreLeavesThatCutNicsButNoGpu) {
  const Cluster cluster = build_cluster("superpod-b200:su=2");
  const std::vector<CutPoint> points = cut_points(cluster);
  ASSERT_EQ(points.size(), 16U);
  for (const CutPoint& point : points) {
    EXPECT_EQ(cluster.vertex(point.vertex).kind, VertexKind::kLeaf);
    EXPECT_EQ(point.gpus, 0);
    EXPECT_EQ(point.nics, 32);
  }
}

TEST(CutPoints, OfRackSwitchesCutTheirHostsOff) {
  const std::vector<CutPoint> points = cut_points(build_cluster("llama3-roce"));
  ASSERT_EQ(points.size(), 1536U);
  EXPECT_EQ(points.front().gpus, 16);
  EXPECT_EQ(points.front().nics, 16);
}

TEST(CutPoints, AreNoneWhereEveryNicHasTwoToRs) {
  EXPECT_TRUE(cut_points(build_cluster("alibaba-hpn:segments=2")).empty());
}

TEST(CutPoints, InAChainCutTheSmallerSideOff) {
  // Routers 0 - 1 - 2 - 3, a host of one GPU on each: a ring without its closing link. Losing router 1 leaves {0},
  // {1's host} and {2, 3}: two GPUs cut off.
  const Cluster ring = build_cluster("torus:dims=4,gpus=1");
  const Cluster chain = without_links(ring, [&](const Link& link) {
    return !(ring.vertex(link.from).name == "router3" && ring.vertex(link.to).name == "router0");
  });
  const std::vector<CutPoint> points = cut_points(chain);
  ASSERT_EQ(points.size(), 4U);
  EXPECT_EQ(points[0].gpus, 2);
  EXPECT_EQ(points[1].gpus, 2);
  EXPECT_EQ(points[2].gpus, 1);
  EXPECT_EQ(points[3].nics, 1);
}

TEST(NodeShapes, AreOneForEqualHosts) {
  const std::vector<NodeShape> shapes = node_shapes(build_cluster("superpod-h100"));
  ASSERT_EQ(shapes.size(), 1U);
  EXPECT_EQ(shapes.front().nodes.size(), 127U);
  EXPECT_TRUE(std::any_of(shapes.front().parts.begin(), shapes.front().parts.end(),
                          [](const auto& part) { return part.first == "gpu H100-SXM5" && part.second == 8; }));
}

std::vector<Finding> findings_of(const Cluster& cluster) { return lint(cluster, ClusterGraph(cluster)); }

TEST(Lint, FindsNothingInPublishedFabrics) {
  for (const char* spec : {"superpod-h100", "superpod-b300", "alibaba-hpn:segments=2", "deepseek-mpft", "nvl72",
                           "llama3-roce:pods=2", "megascale:gpus=2048"}) {
    const std::vector<Finding> found = findings_of(build_cluster(spec));
    EXPECT_TRUE(found.empty()) << spec << ": " << (found.empty() ? "" : found.front().what);
  }
}

TEST(Lint, FindsANicAtHalfWidthAndItsHost) {
  Cluster cluster = build_cluster("fat-tree:hosts=4");
  const VertexId nic = cluster.find("node2/nic3").value();
  for (std::size_t l = 0; l < cluster.links().size(); ++l) {
    Link& link = cluster.link(LinkId(static_cast<std::int64_t>(l)));
    if (link.from == nic && link.kind == LinkKind::kPcie) {
      link.width = 8;
      link.bandwidth = link.reverse_bandwidth = link.bandwidth / 2.0;
    }
  }
  const std::vector<Finding> found = findings_of(cluster);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].kind, LintKind::kSlowNic);
  EXPECT_EQ(found[0].names, std::vector<std::string>{"node2/nic3"});
  EXPECT_EQ(found[0].what, "on pcie 5 x8, 31.5 GB/s, most of its type on generation 5 x16");
  EXPECT_EQ(found[1].kind, LintKind::kOddNode);
  EXPECT_EQ(found[1].names, std::vector<std::string>{"node2"});
}

TEST(Lint, FindsGpusFarFromTheirNic) {
  // Eight cards under four switches, two NICs: the NICs' own switches are near, the others aren't.
  const std::vector<Finding> found = findings_of(build_cluster("pcie-box"));
  std::size_t names = 0;
  for (const Finding& finding : found) {
    EXPECT_EQ(finding.kind, LintKind::kFarNic);
    names += finding.names.size();
  }
  EXPECT_EQ(names, 4U);
}

TEST(Lint, FindsALeafWithACableOutAndANicWithoutOne) {
  const Cluster whole = build_cluster("superpod-b200:su=2");
  const VertexId leaf = whole.find("su0/leaf3").value();
  const VertexId nic = whole.find("node05/nic1").value();
  bool removed = false;
  const Cluster broken = without_links(whole, [&](const Link& link) {
    const bool uplink = link.from == leaf && whole.vertex(link.to).kind == VertexKind::kSpine && !removed;
    removed = removed || uplink;
    return !uplink && !(link.from == nic && link.kind == LinkKind::kCable);
  });
  const std::vector<Finding> found = findings_of(broken);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].kind, LintKind::kUncabledNic);
  EXPECT_EQ(found[1].kind, LintKind::kUnevenLeaf);
  EXPECT_EQ(found[1].names, std::vector<std::string>{"su0/leaf3"});
  EXPECT_EQ(found[2].kind, LintKind::kOddNode);
}

TEST(Lint, FindsACableOnTheWrongRail) {
  Cluster cluster = build_cluster("superpod-b200:su=1");
  const VertexId nic = cluster.find("node05/nic1").value();
  for (std::size_t l = 0; l < cluster.links().size(); ++l) {
    Link& link = cluster.link(LinkId(static_cast<std::int64_t>(l)));
    if (link.from == nic && link.kind == LinkKind::kCable) {
      link.to = cluster.find("su0/leaf2").value();
    }
  }
  const std::vector<Finding> found = findings_of(cluster);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind, LintKind::kWrongRail);
  EXPECT_EQ(found[0].what, "of rail 1, cabled to a leaf of rail 2");
}

TEST(Difference, OfAClusterAndItselfIsEmpty) {
  const Cluster cluster = build_cluster("superpod-h100:su=1");
  EXPECT_TRUE(difference(cluster, cluster).empty());
}

TEST(Difference, NamesWhatChanged) {
  const Cluster left = build_cluster("fat-tree:hosts=4");
  Cluster right = build_cluster("fat-tree:hosts=4");
  Link& link = right.link(LinkId(0));  // node0/gpu0 - node0/nvswitch
  link.bandwidth = link.reverse_bandwidth = 225_GBps;
  const ClusterDifference change = difference(left, right);
  EXPECT_TRUE(change.counts.empty());
  ASSERT_EQ(change.links.size(), 1U);
  EXPECT_EQ(change.links[0].ends, "node0/gpu0 - node0/nvswitch");
  EXPECT_EQ(change.links[0].left, "nvlink 4 x18, 450 GB/s");
  EXPECT_EQ(change.links[0].right, "nvlink 4 x18, 225 GB/s");
  ASSERT_EQ(change.shapes.size(), 1U);
  EXPECT_EQ(change.shapes[0].hosts, std::vector<std::string>{"node0"});
  EXPECT_EQ(change.shapes[0].what.substr(0, 7), "1 more:") << "the slower link, one more of its kind";
}

TEST(Difference, CountsWhatOneHasMoreOf) {
  const ClusterDifference change = difference(build_cluster("fat-tree:hosts=4"), build_cluster("fat-tree:hosts=5"));
  EXPECT_TRUE(change.only_left.empty());
  EXPECT_EQ(change.only_right.size(), 8U + 1 + 2 + 8 + 8);  // GPUs, NVSwitch, CPUs, PCIe switches, NICs
  const auto gpus = std::find_if(change.counts.begin(), change.counts.end(),
                                 [](const CountChange& c) { return c.what == "gpu H100-SXM5"; });
  ASSERT_NE(gpus, change.counts.end());
  EXPECT_EQ(gpus->left, 32);
  EXPECT_EQ(gpus->right, 40);
}

}  // namespace
}  // namespace trainyard
