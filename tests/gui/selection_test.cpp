#include "gui/session/selection.h"

#include <gtest/gtest.h>

#include <QSignalSpy>

namespace trainyard::gui {
namespace {

TEST(Selection, SignalsOnlyWhatChanges) {
  Selection selection;
  QSignalSpy plans(&selection, &Selection::plan_changed);
  QSignalSpy ranks(&selection, &Selection::ranks_changed);
  selection.select_plan(3);
  selection.select_plan(3);
  selection.select_ranks({Rank(2), Rank(1), Rank(2)});
  selection.select_ranks({Rank(1), Rank(2)});
  EXPECT_EQ(plans.count(), 1);
  EXPECT_EQ(ranks.count(), 1);
  EXPECT_EQ(selection.ranks(), (std::vector<Rank>{Rank(1), Rank(2)}));
}

}  // namespace
}  // namespace trainyard::gui
