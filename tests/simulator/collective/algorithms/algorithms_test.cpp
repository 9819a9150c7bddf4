// Bytes that each algorithm puts on the wire, against the formulas its header opens with.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "simulator/collective/algorithms/collective_flows.h"
#include "tests/simulator/collective/algorithms/rail_cluster.h"
#include "tests/support/error_of.h"

namespace trainyard::simulator {
namespace {

using enum CollectiveOp;
using enum FlowAlgorithm;

constexpr double kSize = 1e9;

struct Job {
  RailCluster rails;
  CollectiveFabric fabric;
  GroupLayout layout;
  FlowSetup setup;

  Job(int nodes, int gpus_per_node) : Job(nodes, gpus_per_node, {}) {}
  Job(int nodes, int gpus_per_node, std::vector<VertexId> ranks)
      : rails(nodes, gpus_per_node), fabric(rails.cluster), layout(fabric.layout(ranks.empty() ? rails.gpus : ranks)) {}

  CollectiveFlows flows(FlowAlgorithm algorithm, CollectiveOp op) {
    FlowWriter writer(rails.cluster, fabric.graph(), setup);
    add_collective(writer, algorithm, op, layout, kSize);
    return writer.take();
  }
};

// One node of 8: 2 * 7/8 S over each of the 8 hops; gather and scatter half of it; broadcast S over 7.
TEST(Ring, EveryRankOfANodeSendsWhatTheFormulaSays) {
  Job job(1, 8);
  for (const auto& [op, bytes] :
       {std::pair(kAllReduce, 1.75e9), std::pair(kAllGather, 0.875e9), std::pair(kReduceScatter, 0.875e9)}) {
    const CollectiveFlows flows = job.flows(kRing, op);
    const Traffic sums = traffic(job.rails.cluster, flows.inside, false);
    for (const VertexId gpu : job.rails.gpus) {
      EXPECT_DOUBLE_EQ(sums.out[gpu.at()], bytes);
      EXPECT_DOUBLE_EQ(sums.in[gpu.at()], bytes);
    }
    EXPECT_TRUE(flows.across.empty());
  }
}

TEST(Ring, BroadcastIsAChainFromTheFirstRankAndReduceOneToIt) {
  Job job(1, 4);
  const Traffic broadcast = traffic(job.rails.cluster, job.flows(kRing, kBroadcast).inside, false);
  EXPECT_DOUBLE_EQ(broadcast.in[job.rails.gpus[0].at()], 0.0);
  EXPECT_DOUBLE_EQ(broadcast.out[job.rails.gpus[0].at()], kSize);
  EXPECT_DOUBLE_EQ(broadcast.out[job.rails.gpus[3].at()], 0.0);
  const Traffic reduce = traffic(job.rails.cluster, job.flows(kRing, kReduce).inside, false);
  EXPECT_DOUBLE_EQ(reduce.in[job.rails.gpus[0].at()], kSize);
  EXPECT_DOUBLE_EQ(reduce.out[job.rails.gpus[0].at()], 0.0);
}

// 4 nodes of 8, n = 32, 8 rails: each NIC passes 2 * 31/32 S/8 on; each GPU sends 2 * 31/32 S in all, 1/8 of it (the
// ring that leaves the node there) to the NIC and the rest to its neighbour.
TEST(Ring, AcrossNodesEachRailCarriesItsPart) {
  Job job(4, 8);
  const CollectiveFlows flows = job.flows(kRing, kAllReduce);
  const double whole = 2.0 * 31.0 / 32.0 * kSize;
  const Traffic across = traffic(job.rails.cluster, flows.across, true);
  for (const VertexId nic : job.rails.nics) {
    EXPECT_NEAR(across.out[nic.at()], whole / 8.0, 1.0);
    EXPECT_NEAR(across.in[nic.at()], whole / 8.0, 1.0);
  }
  const Traffic inside = traffic(job.rails.cluster, flows.inside, false);
  const Traffic leaving = traffic(job.rails.cluster, flows.across, false);
  for (const VertexId gpu : job.rails.gpus) {
    EXPECT_NEAR(inside.out[gpu.at()], whole * 7.0 / 8.0, 1.0);
    EXPECT_NEAR(leaving.out[gpu.at()], whole / 8.0, 1.0);
  }
}

TEST(Ring, QueuePairsCutTheSameBytesIntoMoreFlows) {
  Job job(4, 2);
  const std::size_t before = job.flows(kRing, kAllReduce).across.size();
  EXPECT_EQ(before, 4U * 2U * 2U);  // nodes, rails, channels of a NIC
  job.setup.queue_pairs = 4;
  const CollectiveFlows flows = job.flows(kRing, kAllReduce);
  EXPECT_EQ(flows.across.size(), 4 * before);
  const Traffic across = traffic(job.rails.cluster, flows.across, true);
  EXPECT_NEAR(across.out[job.rails.nics[0].at()], 2.0 * 7.0 / 8.0 * kSize / 2.0, 1.0);
}

TEST(Ring, WithoutPxnTheLastMemberUsesTheRailsNicItselfAndWithCrossNicItsOwn) {
  Job job(2, 4);
  const auto crosses_rails = [&] {
    const CollectiveFlows flows = job.flows(kRing, kAllReduce);
    return std::any_of(flows.across.begin(), flows.across.end(), [&](const Flow& flow) {
      return job.rails.cluster.vertex(*flow.source_nic).rail != job.rails.cluster.vertex(*flow.destination_nic).rail;
    });
  };
  const auto relays = [&] {
    const CollectiveFlows flows = job.flows(kRing, kAllReduce);
    return std::any_of(flows.across.begin(), flows.across.end(),
                       [](const Flow& flow) { return flow.relay.has_value(); });
  };
  EXPECT_FALSE(crosses_rails());
  EXPECT_TRUE(relays());
  job.setup.pxn = false;
  EXPECT_FALSE(crosses_rails());
  EXPECT_FALSE(relays());
  job.setup.cross_nic = true;
  EXPECT_TRUE(crosses_rails());
}

// 8 nodes of 2: no node sends or receives more than 2 S (a leaf of one tree S/2, an inner node of the other
// 3/2 S), the sum over nodes is 2 S (N-1) each way: every tree has N-1 links, S/2 up and S/2 down.
TEST(Tree, NoNodeSendsMoreThanTwiceTheBuffer) {
  Job job(8, 2);
  const CollectiveFlows flows = job.flows(kTree, kAllReduce);
  const Traffic across = traffic(job.rails.cluster, flows.across, true);
  double sum = 0.0;
  for (int node = 0; node < 8; ++node) {
    const double out = across.out[job.rails.nics[2 * node].at()] + across.out[job.rails.nics[2 * node + 1].at()];
    EXPECT_LE(out, 2.0 * kSize + 1.0);
    sum += out;
  }
  EXPECT_NEAR(sum, 2.0 * kSize * 7.0, 10.0);
  // Two rails, each with its own head: S/2 up and S/2 down on the chain's one link, for both.
  const Traffic inside = traffic(job.rails.cluster, flows.inside, false);
  EXPECT_NEAR(inside.out[job.rails.gpus[0].at()], kSize, 1.0);
}

// S (1 + 1/n) over each GPU's links, each way; n = 8.
TEST(Nvls, ALinkCarriesTheBufferOnceAndItsShareAgain) {
  Job job(1, 8);
  const CollectiveFlows flows = job.flows(kNvls, kAllReduce);
  ASSERT_EQ(flows.inside_fixed.size(), 16U);
  for (const FixedFlow& fixed : flows.inside_fixed) {
    EXPECT_DOUBLE_EQ(fixed.flow.bytes.si(), 1.125 * kSize);
    ASSERT_EQ(fixed.uses.size(), 1U);
    EXPECT_DOUBLE_EQ(fixed.uses[0].weight, 1.0);
  }
}

TEST(NvlsTree, BetweenNodesTheSameAsTheTree) {
  Job job(8, 2);
  const Traffic tree = traffic(job.rails.cluster, job.flows(kTree, kAllReduce).across, true);
  const Traffic nvls = traffic(job.rails.cluster, job.flows(kNvlsTree, kAllReduce).across, true);
  EXPECT_EQ(tree.out, nvls.out);
}

// 4 nodes of 2, a leaf a rail: the leaf is the root. S/2 up and S/2 down on each of the 4 NICs' cables, nothing in the
// spine.
TEST(CollNet, TheLeafOfARailAddsUpAndEachCableCarriesItsPartOnce) {
  Job job(4, 2);
  const CollectiveFlows flows = job.flows(kCollNetDirect, kAllReduce);
  ASSERT_EQ(flows.across_fixed.size(), 2U * 4U * 2U);
  for (const FixedFlow& fixed : flows.across_fixed) {
    EXPECT_DOUBLE_EQ(fixed.flow.bytes.si(), kSize / 2.0);
    EXPECT_NE(job.rails.cluster.vertex(fixed.flow.source).kind, VertexKind::kSpine);
    EXPECT_NE(job.rails.cluster.vertex(fixed.flow.destination).kind, VertexKind::kSpine);
  }
  // Reduce-scatter and all-gather inside: S/2 to the other one, twice.
  const Traffic inside = traffic(job.rails.cluster, flows.inside, false);
  EXPECT_DOUBLE_EQ(inside.out[job.rails.gpus[0].at()], kSize);
}

// 4 nodes of 8: inside 2 * 7/8 S a GPU; across (S/8) * 2 * 3/4 a NIC.
TEST(Hierarchical, InsideTheWholeBufferAcrossAnEighth) {
  Job job(4, 8);
  const CollectiveFlows flows = job.flows(kHierarchical, kAllReduce);
  const Traffic inside = traffic(job.rails.cluster, flows.inside, false);
  const Traffic across = traffic(job.rails.cluster, flows.across, true);
  for (std::size_t i = 0; i < job.rails.gpus.size(); ++i) {
    EXPECT_DOUBLE_EQ(inside.out[job.rails.gpus[i].at()], 1.75 * kSize);
    EXPECT_DOUBLE_EQ(across.out[job.rails.nics[i].at()], kSize / 8.0 * 1.5);
  }
}

// One rank on each of 5 nodes: blocks of 1, 2 and min(4, 1): S (n-1)/n by every NIC.
TEST(Pat, EveryRankSendsAllBlocksButItsOwn) {
  const RailCluster rails(5, 2);
  std::vector<VertexId> ranks;
  for (std::size_t node = 0; node < 5; ++node) {
    ranks.push_back(rails.gpus[2 * node]);
  }
  Job job(5, 2, ranks);
  const CollectiveFlows flows = job.flows(kPat, kAllGather);
  const Traffic across = traffic(job.rails.cluster, flows.across, true);
  for (std::size_t node = 0; node < 5; ++node) {
    EXPECT_NEAR(across.out[job.rails.nics[2 * node].at()], 0.8 * kSize, 1.0);
    EXPECT_NEAR(across.in[job.rails.nics[2 * node].at()], 0.8 * kSize, 1.0);
  }
}

// 3 nodes of 4, n = 12: S/12 to each of 8 ranks on other nodes by every NIC, with PXN or without; with it in a fourth
// of the flows and on the rail.
TEST(AllToAll, PxnSendsTheSameBytesInFewerFlowsOnTheRail) {
  Job job(3, 4);
  const auto check_bytes = [&](const CollectiveFlows& flows) {
    const Traffic across = traffic(job.rails.cluster, flows.across, true);
    for (const VertexId nic : job.rails.nics) {
      EXPECT_NEAR(across.out[nic.at()], kSize * 8.0 / 12.0, 1.0);
      EXPECT_NEAR(across.in[nic.at()], kSize * 8.0 / 12.0, 1.0);
    }
  };
  const CollectiveFlows with = job.flows(kDirect, kAllToAll);
  check_bytes(with);
  EXPECT_EQ(with.across.size(), 3U * 2U * 4U);
  for (const Flow& flow : with.across) {
    EXPECT_EQ(job.rails.cluster.vertex(*flow.source_nic).rail, job.rails.cluster.vertex(*flow.destination_nic).rail);
  }
  // Inside: S/12 to each of 3 neighbours, and what they relay: 3 rails * 2 nodes * S/12.
  const Traffic inside = traffic(job.rails.cluster, with.inside, false);
  EXPECT_NEAR(inside.out[job.rails.gpus[0].at()], kSize * (3.0 + 6.0) / 12.0, 1.0);
  job.setup.pxn = false;
  const CollectiveFlows without = job.flows(kDirect, kAllToAll);
  check_bytes(without);
  EXPECT_EQ(without.across.size(), 3U * 2U * 16U);
}

TEST(SendReceive, EachRankSendsToTheNextAndOneOfANodeLeavesIt) {
  Job job(2, 4);
  const CollectiveFlows flows = job.flows(kDirect, kSendRecv);
  EXPECT_EQ(flows.inside.size(), 6U);
  EXPECT_EQ(flows.across.size(), 4U);  // two channels each way
  const Traffic sums = traffic(job.rails.cluster, flows.inside, false);
  EXPECT_DOUBLE_EQ(sums.out[job.rails.gpus[0].at()], kSize);
}

TEST(Applicable, SaysWhyNot) {
  Job job(2, 4);
  EXPECT_FALSE(applicable(kPat, kAllGather, job.layout, job.rails.cluster, job.fabric.graph()).yes);
  const Error error = error_of([&] { job.flows(kTree, kAllGather); });
  EXPECT_NE(std::string(error.problem()).find("all-reduce only"), std::string::npos);
}

TEST(GroupLayout, RanksOfANodeInOrderAndTheirNicsByRail) {
  Job job(2, 4);
  ASSERT_EQ(job.layout.nodes.size(), 2U);
  EXPECT_EQ(job.layout.rails, 4U);
  EXPECT_EQ(job.layout.ranks_per_node(), 4U);
  for (std::size_t rail = 0; rail < 4; ++rail) {
    EXPECT_EQ(job.layout.nodes[1].nics[rail], job.rails.nics[4 + rail]);
    EXPECT_EQ(job.layout.nodes[1].head(rail), job.rails.gpus[4 + rail]);
  }
}

TEST(GroupLayout, ARankTwiceOrAloneIsAnError) {
  RailCluster rails(2, 2);
  CollectiveFabric fabric(rails.cluster);
  const std::vector<VertexId> twice = {rails.gpus[0], rails.gpus[0]};
  const std::vector<VertexId> alone = {rails.gpus[0]};
  EXPECT_EQ(error_of([&] { fabric.layout(twice); }).where(), "node0/gpu0");
  EXPECT_EQ(error_of([&] { fabric.layout(alone); }).where(), "ranks");
}

}  // namespace
}  // namespace trainyard::simulator
