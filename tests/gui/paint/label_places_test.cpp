#include "gui/paint/label_places.h"

#include <gtest/gtest.h>

namespace trainyard::gui {
namespace {

TEST(LabelPlaces, GivesTheFirstPlaceThatLiesOnNothing) {
  LabelPlaces places(QRectF(0, 0, 100, 100));
  places.take(QRectF(0, 0, 50, 10));
  const QRectF on_it(20, 5, 20, 10);
  const QRectF below(20, 10, 20, 10);  // touches the taken area only
  EXPECT_EQ(places.place({on_it, below}), below);
  EXPECT_EQ(places.place({below}), std::nullopt);  // a label lies there now
}

TEST(LabelPlaces, OutsideThePictureIsNoPlace) {
  LabelPlaces places(QRectF(0, 0, 100, 100));
  EXPECT_EQ(places.place({QRectF(90, 0, 20, 10)}), std::nullopt);
  EXPECT_EQ(places.place({QRectF(-1, 0, 20, 10), QRectF(80, 90, 20, 10)}), QRectF(80, 90, 20, 10));
}

}  // namespace
}  // namespace trainyard::gui
