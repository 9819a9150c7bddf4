#include "simulator/throughput/layout_groups.h"

#include <gtest/gtest.h>

namespace trainyard::simulator {
namespace {

Fabric nodes_of_eight() {
  Fabric fabric;
  fabric.ranks_per_node.value = 8;
  return fabric;
}

TEST(LayoutGroups, TensorGroupsShareANodeAndDataGroupsItsNics) {
  // tp 2, dp 16, pp 2 on nodes of 8: a node holds four tp pairs, and two dp groups with four members each.
  Layout layout;
  layout.tensor = 2;
  layout.data = 16;
  layout.pipeline = 2;
  const LayoutGroups groups = layout_groups(layout, nodes_of_eight());
  EXPECT_EQ(groups.tensor.per_node, 2);
  EXPECT_EQ(groups.tensor.concurrent, 4);
  EXPECT_EQ(groups.data.size(), 16);
  EXPECT_EQ(groups.data.per_node, 4);
  EXPECT_EQ(groups.data.concurrent, 2);
  EXPECT_EQ(groups.pipeline.per_node, 1);
  EXPECT_EQ(groups.pipeline.stride[0], 32);
}

TEST(LayoutGroups, TensorGroupOfSixteenSpansTwoNodes) {
  Layout layout;
  layout.tensor = 16;
  layout.data = 2;
  const LayoutGroups groups = layout_groups(layout, nodes_of_eight());
  EXPECT_EQ(groups.tensor.nodes(), 2);
  EXPECT_EQ(groups.tensor.concurrent, 1);
  EXPECT_EQ(groups.data.per_node, 1);
  EXPECT_EQ(groups.data.concurrent, 8);
}

TEST(LayoutGroups, ShardGroupsAreNeighboursAndTheirCopiesTheRest) {
  Layout layout;
  layout.data = 32;
  layout.zero_stage = 3;
  layout.shard_group = 8;
  const LayoutGroups groups = layout_groups(layout, nodes_of_eight());
  EXPECT_EQ(groups.shard.size(), 8);
  EXPECT_EQ(groups.shard.per_node, 8);
  EXPECT_EQ(groups.replica.size(), 4);
  EXPECT_EQ(groups.replica.per_node, 1);
}

TEST(LayoutGroups, OrderOfRanksDecidesWhoIsNear) {
  Layout layout;
  layout.tensor = 8;
  layout.data = 8;
  layout.rank_order = "dp-tp-cp-ep-pp";
  const LayoutGroups groups = layout_groups(layout, nodes_of_eight());
  EXPECT_EQ(groups.data.per_node, 8);
  EXPECT_EQ(groups.tensor.per_node, 1);
}

}  // namespace
}  // namespace trainyard::simulator
