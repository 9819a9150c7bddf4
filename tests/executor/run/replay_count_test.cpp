// When a run with --graphs says that nothing came of it, and why.
#include "executor/run/replay_count.h"

#include <gtest/gtest.h>

#include "tests/support/error_of.h"

namespace trainyard::executor {
namespace {

constexpr std::size_t kRepeated = 20;

std::string why(const ReplayCount& count, std::size_t repeated = kRepeated) {
  return count.why_none(repeated).value_or("");
}

TEST(ReplayCount, HasNothingToSayOfStepsThatWereReplayedOrOfNoSteps) {
  ReplayCount count;
  EXPECT_EQ(count.why_none(kRepeated), std::nullopt);  // a restart after the last step
  count.add(false, false, {});
  count.add(false, true, {});
  count.add(true, false, {});
  EXPECT_EQ(count.why_none(kRepeated), std::nullopt);
  EXPECT_EQ(count.replayed(), 1);
}

// The first step that isn't traced gives kernels their scratch memory; the second could be replayed.
TEST(ReplayCount, TakesTwoStepsThatAreNotTraced) {
  ReplayCount count;
  count.add(false, false, {});
  for (int traced = 0; traced < 3; ++traced) {
    count.add(true, false, {});
  }
  EXPECT_TRUE(contains(why(count), "two steps that are not traced")) << why(count);
  EXPECT_TRUE(contains(why(count, 0), "too little of a step")) << why(count, 0);
}

TEST(ReplayCount, OtherwiseTheDeviceCannotKeepACall) {
  ReplayCount count;
  count.add(false, false, {});
  count.add(false, false, {});
  EXPECT_TRUE(contains(why(count), "device can't keep")) << why(count);
}

// A captured step has its loss scale in it. Every step overflows, so that none has the scale of the one before it;
// two that have are the device's to keep, traced ones between them or not.
TEST(ReplayCount, AScaleThatChangesWithEveryStepIsAReasonOfItsOwn) {
  ReplayCount count;
  for (const double scale : {65536.0, 32768.0, 16384.0}) {
    count.add(false, false, scale);
  }
  EXPECT_TRUE(contains(why(count), "another loss scale")) << why(count);
  count.add(true, false, 8192.0);
  count.add(false, false, 16384.0);
  EXPECT_TRUE(contains(why(count), "device can't keep")) << why(count);
}

}  // namespace
}  // namespace trainyard::executor
