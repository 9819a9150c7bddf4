#include "gui/paint/theme.h"

#include <gtest/gtest.h>

#include <set>

#include "gui/paint/hatch.h"

namespace trainyard::gui {
namespace {

TEST(Theme, TextIsReadableAndMarksStandOut) {
  for (const Theme& theme : {light_theme(), dark_theme()}) {
    for (const QColor& ground : {theme.background, theme.raised}) {
      for (const QColor& ink : {theme.text, theme.muted, theme.good, theme.warning, theme.bad}) {
        EXPECT_GE(contrast(ink, ground), 4.5) << ink.name().toStdString() << " on " << ground.name().toStdString();
      }
    }
    for (const QColor& mark : theme.colours) {
      EXPECT_GE(contrast(mark, theme.background), 3.0)
          << mark.name().toStdString() << (theme.dark ? " dark" : " light");
    }
    for (const QColor& mark : {theme.selection, theme.plan_a, theme.plan_b, theme.axis}) {
      EXPECT_GE(contrast(mark, theme.background), 3.0) << mark.name().toStdString();
    }
  }
}

TEST(Theme, CategoriesDifferInColourAndHatchAndNeverRepeatSoon) {
  const Theme theme = light_theme();
  std::set<Hatch> hatches;
  std::set<std::pair<QRgb, Hatch>> pairs;
  for (std::size_t i = 0; i < 42; ++i) {
    const Category category = theme.category(i);
    if (i < kCategoryColours) {
      hatches.insert(category.hatch);
    }
    pairs.emplace(category.colour.rgb(), category.hatch);
  }
  EXPECT_EQ(hatches.size(), kHatches);
  EXPECT_EQ(pairs.size(), 42U);
}

// Colours alone tell any two of 28 apart, by the plain distance of channels; those of one mark by more.
TEST(Theme, NoTwoOfTwentyEightCellsLookAlike) {
  for (const Theme& theme : {light_theme(), dark_theme()}) {
    for (std::size_t i = 0; i < kCellLooks; ++i) {
      for (std::size_t j = i + 1; j < kCellLooks; ++j) {
        const CellLook a = theme.cell(i);
        const CellLook b = theme.cell(j);
        const int apart = std::abs(a.colour.red() - b.colour.red()) + std::abs(a.colour.green() - b.colour.green()) +
                          std::abs(a.colour.blue() - b.colour.blue());
        EXPECT_GT(apart, a.mark == b.mark ? 36 : 27) << i << " and " << j;
      }
    }
    EXPECT_EQ(theme.cell(kCellLooks).colour, theme.cell(0).colour);
  }
}

TEST(Hatch, MarksLieInsideTheirCell) {
  const QRectF cell(10.0, 20.0, 9.0, 9.0);
  EXPECT_TRUE(mark_areas(cell, CellMark::kNone).empty());
  for (const CellMark mark : {CellMark::kDot, CellMark::kBar, CellMark::kFrame}) {
    const std::vector<QRectF> areas = mark_areas(cell, mark);
    ASSERT_FALSE(areas.empty());
    for (const QRectF& area : areas) {
      EXPECT_TRUE(cell.contains(area));
      EXPECT_GE(area.width() * area.height(), 1.0);
    }
  }
}

TEST(Theme, TheRampsStrongEndIsFarFromTheBackground) {
  for (const Theme& theme : {light_theme(), dark_theme()}) {
    double before = 0.0;
    for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) {
      const double now = contrast(theme.ramp(share), theme.background);
      EXPECT_GT(now, before);
      before = now;
    }
    EXPECT_EQ(theme.ramp(7.0), theme.ramp(1.0));
  }
}

TEST(Theme, FollowsThePalette) {
  EXPECT_FALSE(current(light_palette()).dark);
  EXPECT_TRUE(current(dark_palette()).dark);
}

TEST(Hatch, LinesStayInsideAndJoinAcrossNeighbours) {
  const QRectF area(3.0, 4.0, 40.0, 25.0);
  for (std::size_t i = 1; i < kHatches; ++i) {
    const std::vector<QLineF> lines = hatch_lines(area, static_cast<Hatch>(i));
    EXPECT_FALSE(lines.empty());
    for (const QLineF& line : lines) {
      EXPECT_TRUE(area.adjusted(-0.01, -0.01, 0.01, 0.01).contains(line.p1())) << i;
      EXPECT_TRUE(area.adjusted(-0.01, -0.01, 0.01, 0.01).contains(line.p2())) << i;
    }
  }
  EXPECT_TRUE(hatch_lines(area, Hatch::kNone).empty());
  // x - y of a falling line is a multiple of the spacing wherever its rectangle lies.
  for (const QLineF& line : hatch_lines(area, Hatch::kFalling)) {
    EXPECT_NEAR(std::remainder(line.x1() - line.y1(), 6.0), 0.0, 1e-9);
  }
}

}  // namespace
}  // namespace trainyard::gui
