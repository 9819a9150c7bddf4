#include "core/plan/training.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

// 4 warm-up steps to 1.0, then half a cosine over 8 steps down to 0.2.
const Training kTraining = [] {
  Training training;
  training.steps = 12;
  training.warmup_steps = 4;
  training.learning_rate = 1.0;
  training.minimum_rate_ratio = 0.2;
  return training;
}();

TEST(LearningRate, ClimbsToThePeakOverTheWarmUp) {
  EXPECT_DOUBLE_EQ(learning_rate_at(kTraining, 0), 0.25);
  EXPECT_DOUBLE_EQ(learning_rate_at(kTraining, 3), 1.0);
}

TEST(LearningRate, FollowsACosineToTheFloorAndStaysThere) {
  EXPECT_DOUBLE_EQ(learning_rate_at(kTraining, 4), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate_at(kTraining, 8), 0.6);  // half way: 0.2 + 0.8 / 2
  EXPECT_DOUBLE_EQ(learning_rate_at(kTraining, 12), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate_at(kTraining, 100), 0.2);
}

TEST(LearningRate, StartsAtThePeakWithoutWarmUp) {
  Training training = kTraining;
  training.warmup_steps = 0;
  EXPECT_DOUBLE_EQ(learning_rate_at(training, 0), 1.0);
}

TEST(LearningRate, IsDefinedWhenEveryStepWarmsUp) {
  Training training = kTraining;
  training.warmup_steps = 12;
  EXPECT_DOUBLE_EQ(learning_rate_at(training, 11), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate_at(training, 13), 0.2);
}

}  // namespace
}  // namespace trainyard
