#include "simulator/planner/goodput_waterfall.h"

#include <gtest/gtest.h>

namespace trainyard::simulator {
namespace {

StepLosses four_seconds() {
  StepLosses losses{};
  losses[static_cast<std::size_t>(StepLoss::kIdeal)] = 2.0_s;
  losses[static_cast<std::size_t>(StepLoss::kGemm)] = 1.5_s;
  losses[static_cast<std::size_t>(StepLoss::kBubble)] = 0.5_s;
  return losses;
}

TimeUses four_fifths_useful() {
  TimeUses shares;
  shares[TimeUse::kUseful] = 0.8;
  shares[TimeUse::kLostWork] = 0.15;
  shares[TimeUse::kRestart] = 0.05;
  return shares;
}

// 4 s a step at a goodput of 0.8 are 5 s of wall clock: 0.15 x 5 s lost, 0.05 x 5 s restarting.
TEST(GoodputWaterfall, PartsAddUpToTheStepOverTheGoodput) {
  const TimeUses shares = four_fifths_useful();
  const GoodputWaterfall waterfall = goodput_waterfall(four_seconds(), &shares);
  EXPECT_DOUBLE_EQ(waterfall.step.si(), 4.0);
  EXPECT_DOUBLE_EQ(waterfall.wall.si(), 5.0);
  EXPECT_DOUBLE_EQ(waterfall.goodput, 0.8);
  EXPECT_DOUBLE_EQ(waterfall.of(TimeUse::kLostWork).si(), 0.75);
  EXPECT_DOUBLE_EQ(waterfall.of(TimeUse::kRestart).si(), 0.25);
  Seconds sum;
  for (const WaterfallPart& part : waterfall.parts) {
    sum += part.time;
  }
  EXPECT_EQ(sum, waterfall.wall);
  EXPECT_DOUBLE_EQ(waterfall.share(waterfall.parts.front()), 0.4);  // of the peak: MFU 0.5 x goodput 0.8
}

TEST(GoodputWaterfall, WithoutFailuresItIsTheStep) {
  const GoodputWaterfall waterfall = goodput_waterfall(four_seconds(), nullptr);
  EXPECT_EQ(waterfall.wall, waterfall.step);
  EXPECT_EQ(waterfall.parts.size(), 3U);
  TimeUses stuck;
  stuck[TimeUse::kLostWork] = 1.0;
  EXPECT_EQ(goodput_waterfall(four_seconds(), &stuck).wall, waterfall.step) << "a job that never gets on";
}

TEST(GoodputWaterfall, DifferencesComeLargestFirstAndAddUp) {
  StepLosses other = four_seconds();
  other[static_cast<std::size_t>(StepLoss::kBubble)] = 0.2_s;
  other[static_cast<std::size_t>(StepLoss::kTensor)] = 0.1_s;
  const GoodputWaterfall a = goodput_waterfall(four_seconds(), nullptr);
  const GoodputWaterfall b = goodput_waterfall(other, nullptr);
  const std::vector<WaterfallDifference> found = differences(a, b);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].cause, WaterfallCause(StepLoss::kBubble));
  EXPECT_NEAR(found[0].difference().si(), -0.3, 1e-12);
  EXPECT_EQ(found[1].cause, WaterfallCause(StepLoss::kTensor));
  EXPECT_NEAR((found[0].difference() + found[1].difference()).si(), (b.wall - a.wall).si(), 1e-12);
}

}  // namespace
}  // namespace trainyard::simulator
