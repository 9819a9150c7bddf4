#include "simulator/throughput/pipeline_time.h"

#include <gtest/gtest.h>

namespace trainyard::simulator {
namespace {

// Four equal stages: forward 1 s, backward to inputs 1 s, to weights 1 s each.
StageTimes equal() { return {4_s, 4_s, 4_s, 3_s, 4}; }

TEST(Bubble, OneForwardOneBackwardWaitsForTheOtherStages) {
  // (pp - 1)(f + i + w) = 3 x 3 s.
  EXPECT_NEAR(bubble_time(ScheduleKind::k1f1b, 1, equal()).si(), 9.0, 1e-12);
  EXPECT_NEAR(bubble_time(ScheduleKind::kGpipe, 1, equal()).si(), 9.0, 1e-12);
}

TEST(Bubble, InterleavingDividesIt) {
  EXPECT_NEAR(bubble_time(ScheduleKind::kInterleaved, 3, equal()).si(), 3.0, 1e-12);
}

TEST(Bubble, WeightGradientsFillItAsInQiEtAl) {
  // Table 1 there: ZB-H1 (p-1)(f + b - w) = 3 s, ZB-H2 (p-1)(f + b - 2w) = 0.
  EXPECT_NEAR(bubble_time(ScheduleKind::kZeroBubbleH1, 1, equal()).si(), 3.0, 1e-12);
  EXPECT_NEAR(bubble_time(ScheduleKind::kZeroBubbleH2, 1, equal()).si(), 0.0, 1e-12);
  EXPECT_NEAR(bubble_time(ScheduleKind::kZeroBubbleV, 2, equal()).si(), 0.0, 1e-12);
}

TEST(Bubble, DualPipeIsDeepSeeksFormula) {
  // (pp/2 - 1)(F&B + B - 3W), F&B = 3, B = 2, W = 1 for these: (2 - 1)(3 + 2 - 3) = 2 s.
  EXPECT_NEAR(bubble_time(ScheduleKind::kDualPipe, 2, equal()).si(), 2.0, 1e-12);
}

TEST(Bubble, OneStageHasNone) { EXPECT_EQ(bubble_time(ScheduleKind::k1f1b, 1, {1_s, 1_s, 1_s, 3_s, 1}).si(), 0.0); }

}  // namespace
}  // namespace trainyard::simulator
