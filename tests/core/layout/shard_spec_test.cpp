#include "core/layout/shard_spec.h"

#include <gtest/gtest.h>

#include <map>

namespace trainyard {
namespace {

Mesh mesh_of(int tp, int dp) {
  Layout layout;
  layout.tensor = tp;
  layout.data = dp;
  return Mesh(layout);
}

AxisPlacement shard(Axis axis, std::optional<int> dimension, std::int64_t unit = 1) {
  AxisPlacement placement;
  placement.axis = axis;
  placement.placement = Placement::kShard;
  placement.dimension = dimension;
  placement.unit = unit;
  return placement;
}

TEST(ShardSpec, AnEvenRangeRoundsItsEndsDown) {
  // 10 elements over 4: floor(10 i / 4) = 0, 2, 5, 7, 10.
  EXPECT_EQ(even_range(10, 4, 0), (IndexRange{0, 2}));
  EXPECT_EQ(even_range(10, 4, 1), (IndexRange{2, 5}));
  EXPECT_EQ(even_range(10, 4, 2), (IndexRange{5, 7}));
  EXPECT_EQ(even_range(10, 4, 3), (IndexRange{7, 10}));
  EXPECT_EQ(even_range(2, 3, 0).size(), 0);  // floor(2/3) = 0: the first has nothing
}

TEST(ShardSpec, AnEvenRangeCutsBetweenUnits) {
  // 24 elements in 3 units of 8 over 2: unit cuts 0, 1, 3.
  EXPECT_EQ(even_range(24, 2, 0, 8), (IndexRange{0, 8}));
  EXPECT_EQ(even_range(24, 2, 1, 8), (IndexRange{8, 24}));
  EXPECT_DEATH(even_range(25, 2, 0, 8), "multiple of the unit");
}

TEST(ShardSpec, AnAxisThatIsNotNamedReplicates) {
  ShardSpec spec{{6, 4}, {shard(Axis::kTensor, 0)}};
  EXPECT_FALSE(spec.replicated_over(Axis::kTensor));
  EXPECT_TRUE(spec.replicated_over(Axis::kData));
  EXPECT_EQ(spec.on(Axis::kData), nullptr);
  spec.axes.push_back({Axis::kData, Placement::kPartial, {}, 1, {}});
  EXPECT_FALSE(spec.replicated_over(Axis::kData));  // summands are not copies
  EXPECT_EQ(local_elements(spec, mesh_of(1, 2), Coordinates{}), 24);
}

// How often each element of the tensor is held over the mesh, by the flat position in the global tensor.
std::map<std::int64_t, int> holders(const ShardSpec& spec, const Mesh& mesh) {
  std::map<std::int64_t, int> count;
  for (std::int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    const Coordinates at = mesh.coordinates(Rank(rank));
    const std::vector<IndexRange> local = local_ranges(spec, mesh, at);
    const IndexRange flat = flat_range(spec, mesh, at);
    for (std::int64_t i = flat.begin; i < flat.end; ++i) {
      const std::int64_t row = local[0].begin + i / local[1].size();
      const std::int64_t column = local[1].begin + i % local[1].size();
      ++count[row * spec.shape[1] + column];
    }
  }
  return count;
}

TEST(ShardSpec, CutOnEveryAxisTheRanksHoldEachElementOnce) {
  // 7 x 5 by columns over tp 3, the remainder flat over dp 4: uneven everywhere.
  const ShardSpec spec{{7, 5}, {shard(Axis::kTensor, 1), shard(Axis::kData, std::nullopt)}};
  const std::map<std::int64_t, int> count = holders(spec, mesh_of(3, 4));
  EXPECT_EQ(count.size(), 35U);
  for (const auto& [element, times] : count) {
    EXPECT_EQ(times, 1) << "element " << element;
  }
}

TEST(ShardSpec, ReplicatedOverAnAxisEachElementIsHeldOnceForEachOfItsRanks) {
  const ShardSpec spec{{7, 5}, {shard(Axis::kTensor, 0)}};
  const std::map<std::int64_t, int> count = holders(spec, mesh_of(3, 4));
  EXPECT_EQ(count.size(), 35U);
  for (const auto& [element, times] : count) {
    EXPECT_EQ(times, 4) << "element " << element;
  }
}

TEST(ShardSpec, TwoAxesCutOneDimensionOneAfterTheOther) {
  // 12 rows over tp 2: 6 each; those over dp 3: 2 each. tp 1, dp 2 holds 6 + [4, 6).
  const ShardSpec spec{{12, 1}, {shard(Axis::kTensor, 0), shard(Axis::kData, 0)}};
  Coordinates at;
  at.tensor = 1;
  at.data = 2;
  EXPECT_EQ(local_ranges(spec, mesh_of(2, 3), at).front(), (IndexRange{10, 12}));
}

TEST(ShardSpec, GivenBoundariesReplaceTheEvenCut) {
  AxisPlacement uneven = shard(Axis::kData, std::nullopt);
  uneven.boundaries = {0, 1, 1, 10};
  const ShardSpec spec{{5, 2}, {uneven}};
  const Mesh mesh = mesh_of(1, 3);
  EXPECT_EQ(flat_range(spec, mesh, mesh.coordinates(Rank(0))), (IndexRange{0, 1}));
  EXPECT_EQ(local_elements(spec, mesh, mesh.coordinates(Rank(1))), 0);
  EXPECT_EQ(flat_range(spec, mesh, mesh.coordinates(Rank(2))), (IndexRange{1, 10}));
  EXPECT_DEATH(flat_range(spec, mesh_of(1, 2), Coordinates{}), "boundaries");
}

}  // namespace
}  // namespace trainyard
