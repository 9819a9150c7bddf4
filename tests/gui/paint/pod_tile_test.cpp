#include "gui/paint/pod_tile.h"

#include <gtest/gtest.h>

namespace trainyard::gui {
namespace {

constexpr QRgb kCool = 0xff0000ff;
constexpr QRgb kHot = 0xffff0000;

TEST(PodTile, OneHotGpuOfThousandsIsSeenFromAnyDistance) {
  std::vector<TileCell> cells(64 * 48, {kCool, 0.1F});
  cells[17 * 64 + 41] = {kHot, 0.9F};
  const PodTile tile(64, 48, cells);
  ASSERT_EQ(tile.levels(), 7);  // 64, 32, 16, 8, 4, 2, 1 texels wide
  for (int level = 0; level < tile.levels(); ++level) {
    EXPECT_EQ(tile.image(level).pixel(41 >> level, 17 >> level), kHot) << level;
  }
  EXPECT_EQ(tile.image(1).pixel(0, 0), kCool);
}

TEST(PodTile, CellsWithoutAGpuStayEmptyUntilOneIsBesideThem) {
  const PodTile tile(2, 1, {{0, 0.0F}, {kCool, 0.0F}});
  EXPECT_EQ(qAlpha(tile.image(0).pixel(0, 0)), 0);
  EXPECT_EQ(tile.image(1).pixel(0, 0), kCool);
}

TEST(PodTile, TexelsAreAtLeastAPixel) {
  const PodTile tile(64, 64, std::vector<TileCell>(64 * 64, {kCool, 0.0F}));
  EXPECT_EQ(tile.level_for(5.0), 0);
  EXPECT_EQ(tile.level_for(1.0), 0);
  EXPECT_EQ(tile.level_for(0.6), 1);
  EXPECT_EQ(tile.level_for(0.2), 3);
  EXPECT_EQ(tile.level_for(1e-6), 6);
}

}  // namespace
}  // namespace trainyard::gui
