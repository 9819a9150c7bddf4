// Pictures share a dock where they fit, else one at a time behind tabs.
#include <gtest/gtest.h>

#include <QSplitter>
#include <QTabBar>

#include "gui/views/fitting_panes.h"

namespace trainyard::gui {
namespace {

class TwoPanes : public ::testing::Test {
 protected:
  void SetUp() override {
    first_ = new QWidget;
    second_ = new QWidget;
    panes_.add_pane(first_, QStringLiteral("first"), {}, {300, 200});
    panes_.add_pane(second_, QStringLiteral("second"), {}, {300, 200});
  }

  void show_at(int width, int height) {
    panes_.resize(width, height);
    panes_.show();
  }

  FittingPanes panes_;
  QWidget* first_ = nullptr;
  QWidget* second_ = nullptr;
};

TEST_F(TwoPanes, StandAboveEachOtherInATallDock) {
  show_at(320, 420);
  EXPECT_FALSE(panes_.tabbed());
  EXPECT_TRUE(first_->isVisible() && second_->isVisible());
  EXPECT_EQ(panes_.findChild<QSplitter*>()->orientation(), Qt::Vertical);
}

TEST_F(TwoPanes, StandBesideEachOtherInAWideLowDock) {
  show_at(640, 210);
  EXPECT_FALSE(panes_.tabbed());
  EXPECT_TRUE(first_->isVisible() && second_->isVisible());
  EXPECT_EQ(panes_.findChild<QSplitter*>()->orientation(), Qt::Horizontal);
}

TEST_F(TwoPanes, AreTabsInASmallDockAndATabBringsItsPaneUp) {
  show_at(400, 250);
  EXPECT_TRUE(panes_.tabbed() && panes_.tabs()->isVisible());
  EXPECT_TRUE(first_->isVisible());
  EXPECT_FALSE(second_->isVisible());
  panes_.tabs()->setCurrentIndex(1);
  EXPECT_FALSE(first_->isVisible());
  EXPECT_TRUE(second_->isVisible());
}

TEST_F(TwoPanes, APaneWithNothingToSayLeavesItsRoom) {
  show_at(400, 250);
  panes_.set_pane_shown(0, false);
  EXPECT_FALSE(panes_.tabbed());
  EXPECT_FALSE(first_->isVisible());
  EXPECT_TRUE(second_->isVisible());
}

}  // namespace
}  // namespace trainyard::gui
