// Frames at full scale, on CPU time and with slack for a busy machine: `gui_bench` holds them to the real targets.
#include "gui/bench/frames.h"

#include <gtest/gtest.h>

namespace trainyard::gui {
namespace {

constexpr double kSlack = 3.0;

void expect_quick(const std::vector<FrameTimes>& all) {
  for (const FrameTimes& frames : all) {
    ASSERT_GT(frames.ms.size(), 50U);
    EXPECT_LT(frames.median(), kSlack * kMedianFrameMs) << frames.what;
    EXPECT_LT(frames.worst(), kSlack * kWorstFrameMs) << frames.what;
  }
}

#if !defined(__SANITIZE_ADDRESS__)
TEST(Frames, ATimelineOfTwoMillionSlicesZoomsAndPans) { expect_quick(timeline_frames(2'000'000)); }

TEST(Frames, AClusterOf24576GpusZoomsAndPans) { expect_quick(topology_frames("llama3-roce")); }
#endif

}  // namespace
}  // namespace trainyard::gui
