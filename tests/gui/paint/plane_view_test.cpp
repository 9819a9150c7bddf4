#include "gui/paint/plane_view.h"

#include <gtest/gtest.h>

namespace trainyard::gui {
namespace {

constexpr QSizeF kWindow(800.0, 600.0);
const QRectF kBounds(0.0, 0.0, 400.0, 100.0);

TEST(PlaneView, PixelsAndPointsAreEachOthersInverse) {
  const PlaneView view = {{30.0, 40.0}, 2.5};
  const QPointF pixel = to_pixel(view, {10.0, 70.0}, kWindow);
  EXPECT_EQ(to_point(view, pixel, kWindow), QPointF(10.0, 70.0));
  EXPECT_EQ(to_pixel(view, view.centre, kWindow), QPointF(400.0, 300.0));
}

TEST(PlaneView, ZoomKeepsWhatLiesUnderThePointer) {
  const PlaneView view = {{200.0, 50.0}, 2.0};
  const QPointF under = to_point(view, {500.0, 320.0}, kWindow);
  const PlaneView closer = zoomed(view, {500.0, 320.0}, 1.7, kWindow, kBounds);
  const QPointF still = to_point(closer, {500.0, 320.0}, kWindow);
  EXPECT_NEAR(still.x(), under.x(), 1e-9);
  EXPECT_NEAR(still.y(), under.y(), 1e-9);
  EXPECT_DOUBLE_EQ(closer.scale, 3.4);
}

TEST(PlaneView, ZoomEndsAtOneGpuAndAtTwiceTheWhole) {
  PlaneView view = fitted(kBounds, kWindow);
  EXPECT_DOUBLE_EQ(view.scale, 2.0);  // 800 pixels for 400 units
  for (int i = 0; i < 60; ++i) {
    view = zoomed(view, {400.0, 300.0}, 1.5, kWindow, kBounds);
  }
  EXPECT_DOUBLE_EQ(view.scale, kLargestScale);
  for (int i = 0; i < 60; ++i) {
    view = zoomed(view, {400.0, 300.0}, 0.5, kWindow, kBounds);
  }
  EXPECT_DOUBLE_EQ(view.scale, 1.0);
}

TEST(PlaneView, PanStaysOnThePlane) {
  const PlaneView view = panned({{200.0, 50.0}, 2.0}, {1e6, -1e6}, kBounds);
  EXPECT_EQ(view.centre, QPointF(400.0, 0.0));
}

TEST(PlaneView, DetailGrowsWithThePixelsOfAGpu) {
  EXPECT_EQ(detail_at(2.9), PlaneDetail::kTile);
  EXPECT_EQ(detail_at(3.0), PlaneDetail::kBlocks);
  EXPECT_EQ(detail_at(9.0), PlaneDetail::kGpus);
  EXPECT_EQ(detail_at(40.0), PlaneDetail::kLabels);
}

}  // namespace
}  // namespace trainyard::gui
