#include "gui/paint/axis.h"

#include <gtest/gtest.h>

namespace trainyard::gui {
namespace {

std::vector<std::string> labels(const Axis& axis, int most) {
  std::vector<std::string> found;
  for (const Tick& tick : axis.ticks(most)) {
    found.push_back(tick.label.toStdString());
  }
  return found;
}

using Labels = std::vector<std::string>;

TEST(Axis, TicksAreRoundAndCarryTheUnitOfTheirStep) {
  EXPECT_EQ(labels({{}, 0.0, 1.0, Scale::kLinear, Unit::kShare}, 6),
            (Labels{"0 %", "20 %", "40 %", "60 %", "80 %", "100 %"}));
  EXPECT_EQ(labels({{}, 0.0, 0.05, Scale::kLinear, Unit::kTime}, 6),
            (Labels{"0 ms", "10 ms", "20 ms", "30 ms", "40 ms", "50 ms"}));
  // Steps of time are those of a clock: 15 min, not 1000 s.
  EXPECT_EQ(labels({{}, 0.0, 3600.0, Scale::kLinear, Unit::kTime}, 5),
            (Labels{"0 min", "15 min", "30 min", "45 min", "60 min"}));
  EXPECT_EQ(labels({{}, 0.0, 0x1p37, Scale::kLinear, Unit::kBytes}, 5),
            (Labels{"0 GiB", "32 GiB", "64 GiB", "96 GiB", "128 GiB"}));
  EXPECT_EQ(labels({{}, 0.0, 0.5, Scale::kLinear, Unit::kNone}, 6), (Labels{"0.0", "0.1", "0.2", "0.3", "0.4", "0.5"}));
}

TEST(Axis, NeverGivesMoreTicksThanAskedFor) {
  for (const Unit unit : {Unit::kNone, Unit::kTime, Unit::kBytes, Unit::kShare}) {
    for (const Scale scale : {Scale::kLinear, Scale::kLogarithmic}) {
      for (double high = 1e-7; high < 1e15; high *= 3.7) {
        for (int most = 2; most < 12; ++most) {
          const Axis axis{{}, high / 700.0, high, scale, unit};
          const std::vector<Tick> ticks = axis.ticks(most);
          EXPECT_LE(static_cast<int>(ticks.size()), most) << high << " unit " << static_cast<int>(unit);
          for (const Tick& tick : ticks) {
            EXPECT_GE(axis.share(tick.value), -1e-3);
            EXPECT_LE(axis.share(tick.value), 1.001);
          }
        }
      }
    }
  }
}

TEST(Axis, LogarithmicTicksAreDecadesOrFamiliarTimes) {
  EXPECT_EQ(labels({{}, 1.0, 1e4, Scale::kLogarithmic, Unit::kNone}, 9), (Labels{"1", "10", "100", "1000", "10000"}));
  EXPECT_EQ(labels({{}, 60.0, 86400.0, Scale::kLogarithmic, Unit::kTime}, 9),
            (Labels{"60 s", "5 min", "15 min", "60 min", "4 h", "24 h"}));
}

TEST(Axis, ValueUndoesShare) {
  for (const Scale scale : {Scale::kLinear, Scale::kLogarithmic}) {
    const Axis axis{{}, 3.0, 700.0, scale, Unit::kNone};
    for (const double value : {3.0, 4.5, 99.0, 700.0}) {
      EXPECT_NEAR(axis.value(axis.share(value)), value, 1e-9);
    }
  }
}

TEST(Axis, AnEmptyAxisHasNoTicksAndRoundingOpensIt) {
  const Axis point{{}, 5.0, 5.0, Scale::kLinear, Unit::kNone};
  EXPECT_TRUE(point.ticks(5).empty());
  EXPECT_FALSE(rounded(point).ticks(5).empty());
  EXPECT_TRUE((Axis{{}, 0.0, 1.0, Scale::kLogarithmic, Unit::kNone}).ticks(5).empty());
}

TEST(Axis, RoundingGoesOutwards) {
  const Axis axis = rounded({{}, 0.37, 9.61, Scale::kLinear, Unit::kNone});
  EXPECT_LE(axis.low, 0.37);
  EXPECT_GE(axis.high, 9.61);
  const Axis decades = rounded({{}, 3.1, 480.0, Scale::kLogarithmic, Unit::kNone});
  EXPECT_DOUBLE_EQ(decades.low, 2.0);
  EXPECT_DOUBLE_EQ(decades.high, 500.0);
}

TEST(WithUnit, SaysTheUnit) {
  EXPECT_EQ(with_unit(0.0123, Unit::kTime).toStdString(), "12.3 ms");
  EXPECT_EQ(with_unit(0.4321, Unit::kShare).toStdString(), "43.2 %");
  EXPECT_EQ(with_unit(0.99987, Unit::kShare).toStdString(), "99.99 %");
  EXPECT_EQ(with_unit(0.00027812, Unit::kShare).toStdString(), "0.028 %");
  EXPECT_EQ(with_unit(0.7, Unit::kShare).toStdString(), "70 %");
  EXPECT_EQ(with_unit(8.0, Unit::kNone).toStdString(), "8");
  EXPECT_EQ(with_unit(0x1p31, Unit::kBytes).toStdString(), "2 GiB");
}

}  // namespace
}  // namespace trainyard::gui
