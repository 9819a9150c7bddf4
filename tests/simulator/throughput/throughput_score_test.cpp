#include "simulator/throughput/throughput_score.h"

#include <gtest/gtest.h>

namespace trainyard::simulator {
namespace {

TEST(ThroughputScore, RanksThatAgreeScoreOneAndReversedMinusOne) {
  EXPECT_DOUBLE_EQ(spearman({1, 2, 3, 4}, {10, 20, 30, 40}), 1.0);
  EXPECT_DOUBLE_EQ(spearman({1, 2, 3, 4}, {4, 3, 2, 1}), -1.0);
  EXPECT_DOUBLE_EQ(kendall({1, 2, 3, 4}, {10, 20, 30, 40}), 1.0);
}

TEST(ThroughputScore, OneSwappedPairOfFour) {
  // Ranks 1 2 3 4 against 1 2 4 3: rho = 1 - 6 x 2 / (4 x 15) = 0.8; tau = (5 - 1)/6.
  EXPECT_NEAR(spearman({1, 2, 3, 4}, {1, 2, 4, 3}), 0.8, 1e-12);
  EXPECT_NEAR(kendall({1, 2, 3, 4}, {1, 2, 4, 3}), 4.0 / 6.0, 1e-12);
}

TEST(ThroughputScore, ErrorsAreOfAbsoluteValueAndBiasIsNot) {
  const ErrorStatistics statistics = error_statistics({0.1, -0.3}, {true, false});
  EXPECT_DOUBLE_EQ(statistics.mean, 0.2);
  EXPECT_DOUBLE_EQ(statistics.max, 0.3);
  EXPECT_DOUBLE_EQ(statistics.bias, -0.1);
  EXPECT_DOUBLE_EQ(statistics.inside, 0.5);
}

TEST(ThroughputScore, MedianOfAnEvenNumberIsBetweenTheMiddleOnes) {
  EXPECT_DOUBLE_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(median({}), 0.0);
}

}  // namespace
}  // namespace trainyard::simulator
