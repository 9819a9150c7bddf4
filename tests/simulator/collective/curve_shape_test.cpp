#include "simulator/collective/curve_shape.h"

#include <gtest/gtest.h>

#include <utility>

#include "core/error.h"
#include "simulator/collective/collective_models.h"

namespace trainyard::simulator {
namespace {

CollectiveSite hopper(int ranks, int nodes = 1) {
  CollectiveSite site;
  site.ranks = ranks;
  site.nodes = nodes;
  site.nvls = true;
  site.nics = 8;
  site.nic_rate = 400_Gbps;
  return site;
}

double gbps(BytesPerSecond rate) { return rate.si() / 1e9; }

// B = 304 x 2(n-1)/(n+1): stas00/ml-engineering, H200 at 8 GiB: 5 to 8 GPUs 414, 436, 460, 473 GB/s.
TEST(CurveShape, NvlsFollowsTheLawOfItsLinks) {
  const LinkFacts facts = shipped_collective_models().facts;
  for (const auto& [ranks, measured] : {std::pair(5, 414.0), {6, 436.0}, {7, 460.0}, {8, 473.0}}) {
    const CurveShape shape = curve_shape(hopper(ranks), CollectiveOp::kAllReduce, NcclAlgorithm::kNvls, facts);
    EXPECT_NEAR(gbps(shape.bandwidth), measured, 0.025 * measured) << ranks;
  }
}

TEST(CurveShape, HopperReducesByRingBelowFiveGpusAndByNvlsFromThere) {
  const LinkFacts facts = shipped_collective_models().facts;
  EXPECT_EQ(usual_algorithm(hopper(4), CollectiveOp::kAllReduce, facts), NcclAlgorithm::kRing);
  EXPECT_EQ(usual_algorithm(hopper(5), CollectiveOp::kAllReduce, facts), NcclAlgorithm::kNvls);
  EXPECT_EQ(usual_algorithm(hopper(8), CollectiveOp::kAllGather, facts), NcclAlgorithm::kRing);
}

// NICs' sum 400 GB/s: x 1.8 over two nodes, capped by the node's own 473; x 1.2 over three; x 1 from four on.
TEST(CurveShape, TreesOverTwoAndThreeNodesCrossTheWireLess) {
  const LinkFacts facts = shipped_collective_models().facts;
  const auto tree = [&](int nodes) {
    return curve_shape(hopper(8 * nodes, nodes), CollectiveOp::kAllReduce, NcclAlgorithm::kNvlsTree, facts);
  };
  EXPECT_NEAR(gbps(tree(2).bandwidth), 720.0, 1e-6);
  EXPECT_NEAR(gbps(tree(2).cap), 472.9, 0.1);
  EXPECT_NEAR(gbps(tree(3).bandwidth), 480.0, 1e-6);
  EXPECT_NEAR(gbps(tree(4).bandwidth), 400.0, 1e-6);
}

// All-to-all between nodes is bound by a GPU's own NIC: 48 to 50 GB/s at 400 Gbit/s.
TEST(CurveShape, AllToAllBetweenNodesHasOneNicAGpu) {
  const LinkFacts facts = shipped_collective_models().facts;
  const CurveShape shape = curve_shape(hopper(32, 4), CollectiveOp::kAllToAll, NcclAlgorithm::kDirect, facts);
  EXPECT_NEAR(gbps(shape.bandwidth), 50.0, 1e-9);
}

TEST(CurveShape, TreeHopsGrowWithTheLogarithmAndRingHopsWithTheCount) {
  const LinkFacts facts = shipped_collective_models().facts;
  const auto hops = [&](NcclAlgorithm algorithm, int nodes) {
    return curve_shape(hopper(8 * nodes, nodes), CollectiveOp::kAllReduce, algorithm, facts).levels.front().hops;
  };
  EXPECT_DOUBLE_EQ(hops(NcclAlgorithm::kTree, 16), 8.0);
  EXPECT_DOUBLE_EQ(hops(NcclAlgorithm::kTree, 1024), 20.0);
  EXPECT_DOUBLE_EQ(hops(NcclAlgorithm::kRing, 16), 30.0);
  EXPECT_DOUBLE_EQ(hops(NcclAlgorithm::kRing, 1024), 2046.0);
}

TEST(CurveShape, SitesThatCantBePricedSayWhy) {
  const LinkFacts facts = shipped_collective_models().facts;
  EXPECT_THROW(curve_shape(hopper(1), CollectiveOp::kAllReduce, NcclAlgorithm::kRing, facts), Error);
  CollectiveSite no_nics = hopper(16, 2);
  no_nics.nics = 0;
  EXPECT_THROW(curve_shape(no_nics, CollectiveOp::kAllReduce, NcclAlgorithm::kTree, facts), Error);
  EXPECT_THROW(curve_shape(hopper(2, 3), CollectiveOp::kAllReduce, NcclAlgorithm::kTree, facts), Error);
}

}  // namespace
}  // namespace trainyard::simulator
