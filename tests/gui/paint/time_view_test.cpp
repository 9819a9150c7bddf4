#include "gui/paint/time_view.h"

#include <gtest/gtest.h>

#include <cmath>

namespace trainyard::gui {
namespace {

constexpr TimeView kAll = {0.0, 1e6};

TEST(TimeView, PlacesAndTimesAreEachOthersInverse) {
  const TimeView view = {2e5, 3e5};
  for (const double time : {2e5, 2.3e5, 3e5}) {
    EXPECT_DOUBLE_EQ(time_at(view, x_of(view, time, 640), 640), time);
  }
}

struct ZoomCase {
  double at;
  double factor;
};
class TimeViewZoom : public testing::TestWithParam<ZoomCase> {};

TEST_P(TimeViewZoom, KeepsTheTimeUnderThePointerInPlace) {
  const TimeView view = {3e5, 5e5};
  const TimeView closer = zoomed(view, GetParam().at, GetParam().factor, kAll);
  EXPECT_NEAR(x_of(closer, GetParam().at, 1000), x_of(view, GetParam().at, 1000), 1e-6);
  EXPECT_NEAR(closer.span(), view.span() / GetParam().factor, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(InAndOut, TimeViewZoom,
                         testing::Values(ZoomCase{3e5, 2.0}, ZoomCase{4e5, 1.4}, ZoomCase{4.9e5, 10.0},
                                         ZoomCase{4e5, 0.8}));

TEST(TimeView, NeverShowsLessThanItsShortestOrMuchMoreThanThereIs) {
  TimeView view = kAll;
  for (int i = 0; i < 200; ++i) {
    view = zoomed(view, 5e5, 1.4, kAll);
  }
  EXPECT_DOUBLE_EQ(view.span(), kShortestView);
  for (int i = 0; i < 200; ++i) {
    view = zoomed(view, 5e5, 0.7, kAll);
  }
  EXPECT_LE(view.span(), 1.2 * kAll.span() + 1e-6);
  for (int i = 0; i < 200; ++i) {
    view = panned(view, 0.5, kAll);
  }
  EXPECT_LE(view.end, kAll.end + 0.1 * view.span() + 1e-6);
}

TEST(TimeView, FitLeavesATwentiethOnEitherSide) { EXPECT_EQ(fitted(4e5, 5e5, kAll), (TimeView{3.95e5, 5.05e5})); }

TEST(TimeView, CentringKeepsTheSpan) {
  const TimeView view = centred({0.0, 2e5}, 4e5, 5e5, kAll);
  EXPECT_DOUBLE_EQ(view.span(), 2e5);
  EXPECT_DOUBLE_EQ((view.begin + view.end) / 2.0, 4.5e5);
}

struct TickCase {
  TimeView view;
  double width;
  double step;
  const char* first;
};
class TimeTicks : public testing::TestWithParam<TickCase> {};

TEST_P(TimeTicks, AreRoundFarEnoughApartAndNamedInOneUnit) {
  const std::vector<TimeTick> ticks = time_ticks(GetParam().view, GetParam().width, 100.0);
  ASSERT_GE(ticks.size(), 2U);
  EXPECT_NEAR(ticks[1].time - ticks[0].time, GetParam().step, 1e-6);
  EXPECT_GE(
      x_of(GetParam().view, ticks[1].time, GetParam().width) - x_of(GetParam().view, ticks[0].time, GetParam().width),
      100.0 - 1e-6);
  EXPECT_EQ(ticks[0].label, GetParam().first);
}

// 1 s on 1,000 pixels: steps of 0.1 s. 50 us far into a step: the unit of the moment, the decimals of the step.
INSTANTIATE_TEST_SUITE_P(Cases, TimeTicks,
                         testing::Values(TickCase{{0.0, 1e9}, 1000.0, 1e8, "0.0 s"},
                                         TickCase{{0.0, 1e6}, 500.0, 2e5, "0.0 ms"},
                                         TickCase{{1.23e9, 1.23e9 + 5e4}, 1000.0, 5e3, "1.230000 s"},
                                         TickCase{{100.0, 160.0}, 600.0, 10.0, "100 ns"}));

TEST(TimeText, HasFourDigitsAndAUnit) {
  EXPECT_EQ(time_text(12'345.6), "12.35 us");
  EXPECT_EQ(time_text(0.0), "0 ns");
  EXPECT_EQ(time_text(2.5e9), "2.5 s");
}

}  // namespace
}  // namespace trainyard::gui
