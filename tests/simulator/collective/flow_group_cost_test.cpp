#include "simulator/collective/flow_group_cost.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/cluster/builder.h"
#include "simulator/step/communication_cost.h"
#include "tests/support/error_of.h"

namespace trainyard::simulator {
namespace {

using enum CollectiveOp;

GroupShape strided(std::int64_t count, std::int64_t stride, std::int64_t per_node) {
  GroupShape shape;
  shape.count = {count, 1};
  shape.stride = {stride, count * stride};
  shape.per_node = per_node;
  shape.concurrent = 8 / per_node;
  return shape;
}

TEST(FlowGroupCost, OneGroupOfAllRanksOnAFabricWithoutContentionIsTheCurve) {
  const Cluster cluster = build_cluster("fat-tree:hosts=8");
  const CollectiveModels models = shipped_collective_models();
  const FlowGroupCost groups(cluster, 64, models, usual_flow_options(cluster));
  CollectiveFabric fabric(cluster);
  CollectiveQuestion question;
  question.op = kReduceScatter;
  question.groups = {cluster.gpus()};
  question.routing.kind = RoutingKind::kAdaptive;
  CollectivePricer pricer(fabric, models, question);
  const double curve = pricer.curve(FlowAlgorithm::kRing).curve.time(1_GiB).si();
  for (const CollectiveOp op : {kReduceScatter, kAllGather}) {
    EXPECT_NEAR(groups.time(op, 1_GiB, strided(64, 1, 8)).time.si() / curve, 1.0, 1e-3);
  }
}

TEST(FlowGroupCost, GroupsOfOneAndNothingToSendTakeNoTime) {
  const Cluster cluster = build_cluster("fat-tree:hosts=2");
  const FlowGroupCost groups(cluster, 16, shipped_collective_models(), usual_flow_options(cluster));
  EXPECT_EQ(groups.time(kAllReduce, 1_GiB, strided(1, 1, 1)).time, Seconds());
  EXPECT_EQ(groups.time(kAllReduce, Bytes(), strided(8, 1, 8)).time, Seconds());
}

// Eight groups of one rank on each node, each by its own NIC of 50 GB/s: no slower than one such group alone. Two
// nodes' worth of ranks on one NIC's node pair instead, a group of 16, has all eight.
TEST(FlowGroupCost, GroupsSideBySideShareNicsAndTheOneThatSpansNodesHasThemAll) {
  const Cluster cluster = build_cluster("fat-tree:hosts=4");
  const FlowGroupCost groups(cluster, 32, shipped_collective_models(), usual_flow_options(cluster));
  const Seconds beside = groups.time(kReduceScatter, 1_GiB, strided(4, 8, 1)).time;
  const Seconds spanning = groups.time(kReduceScatter, 1_GiB, strided(32, 1, 8)).time;
  // 3/4 GiB at 50 GB/s at the best; 31/32 GiB over eight NICs.
  EXPECT_GT(beside.si(), 0.75 * 0x1p30 / 50e9);
  EXPECT_GT(beside / spanning, 4.0);
}

TEST(FlowGroupCost, AnOversubscribedFabricIsSlowerAndTimeGrowsWithSize) {
  const Cluster full = build_cluster("fat-tree:hosts=64,rail-optimised=no,fabric=ethernet");
  const Cluster thin = build_cluster("fat-tree:hosts=64,rail-optimised=no,fabric=ethernet,oversubscription=4");
  FlowGroupOptions options = usual_flow_options(full);
  options.routing.kind = RoutingKind::kSpray;
  const FlowGroupCost wide(full, 512, shipped_collective_models(), options);
  const FlowGroupCost narrow(thin, 512, shipped_collective_models(), options);
  // Half the ranks away: every flow of the all-to-all's kind crosses the spines.
  const GroupShape far = strided(2, 256, 1);
  EXPECT_GT(narrow.time(kSendRecv, 1_GiB, far).time / wide.time(kSendRecv, 1_GiB, far).time, 2.0);
  Seconds before;
  for (const Bytes size : {1_KiB, 1_MiB, 32_MiB, 1_GiB}) {
    const GroupTime time = wide.time(kReduceScatter, size, strided(64, 8, 1));
    EXPECT_GT(time.time, before);
    EXPECT_LE(time.low, time.time);
    EXPECT_GE(time.high, time.time);
    before = time.time;
  }
}

TEST(FlowGroupCost, SeedsSpreadAndTheMedianIsAmongThem) {
  const Cluster cluster = build_cluster("fat-tree:hosts=64,rail-optimised=no,fabric=ethernet");
  FlowGroupOptions options = usual_flow_options(cluster);
  ASSERT_EQ(options.routing.kind, RoutingKind::kHash);
  options.seeds = 9;
  const FlowGroupCost groups(cluster, 512, shipped_collective_models(), options);
  const GroupShape shape = strided(64, 8, 1);
  const GroupTime time = groups.time(kReduceScatter, 1_GiB, shape);
  std::vector<Seconds> seeds;
  for (int seed = 0; seed < 9; ++seed) {
    seeds.push_back(groups.time_on_seed(kReduceScatter, 1_GiB, shape, seed));
  }
  std::sort(seeds.begin(), seeds.end());
  EXPECT_EQ(time.time, seeds[4]);
  EXPECT_LT(seeds.front(), seeds.back());
  EXPECT_LT(time.low, time.high);
}

// Eight nodes as stages: each is in one pair, with node 7 - i or with node i + 4, and without contention it doesn't
// matter which.
TEST(FlowGroupCost, MirroredPairsRunAllAtOnce) {
  const Cluster cluster = build_cluster("fat-tree:hosts=8");
  const FlowGroupCost groups(cluster, 64, shipped_collective_models(), usual_flow_options(cluster));
  GroupShape mirrored = strided(2, 8, 1);
  mirrored.mirrored = 8;
  const Seconds far = groups.time(kReduceScatter, 1_GiB, strided(2, 32, 1)).time;
  EXPECT_NEAR(groups.time(kReduceScatter, 1_GiB, mirrored).time / far, 1.0, 1e-3);
  // Where leaves have a quarter of their links upwards, neighbours stay below and mirrored pairs go up.
  const Cluster thin = build_cluster("fat-tree:hosts=64,rail-optimised=no,oversubscription=4");
  const FlowGroupCost narrow(thin, 512, shipped_collective_models(), usual_flow_options(thin));
  mirrored.mirrored = 64;
  const Seconds beside = narrow.time(kReduceScatter, 1_GiB, strided(2, 8, 1)).time;
  EXPECT_GT(narrow.time(kReduceScatter, 1_GiB, mirrored).time / beside, 2.0);
}

TEST(FlowGroupCost, MoreRanksThanGpusIsAnError) {
  const Cluster cluster = build_cluster("fat-tree:hosts=2");
  const Error error = error_of([&] { FlowGroupCost(cluster, 17, shipped_collective_models(), {}); });
  EXPECT_FALSE(error.hint().empty());
}

std::vector<Rank> ranks(std::initializer_list<std::int64_t> values) {
  std::vector<Rank> result;
  for (const std::int64_t value : values) {
    result.push_back(Rank(value));
  }
  return result;
}

TEST(GroupShape, StridesAndNodesFollowFromTheMembers) {
  const GroupShape pairs = shape_of(ranks({0, 1, 8, 9, 16, 17}), 8);
  EXPECT_EQ(pairs.count, (std::array<std::int64_t, 2>{2, 3}));
  EXPECT_EQ(pairs.stride, (std::array<std::int64_t, 2>{1, 8}));
  EXPECT_EQ(pairs.per_node, 2);
  EXPECT_EQ(pairs.concurrent, 4);
  const GroupShape rail = shape_of(ranks({3, 11, 19, 27}), 8);
  EXPECT_EQ(rail.count, (std::array<std::int64_t, 2>{4, 1}));
  EXPECT_EQ(rail.stride[0], 8);
  EXPECT_EQ(rail.per_node, 1);
  EXPECT_EQ(rail.concurrent, 8);
}

}  // namespace
}  // namespace trainyard::simulator
