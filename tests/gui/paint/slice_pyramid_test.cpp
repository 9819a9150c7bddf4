#include "gui/paint/slice_pyramid.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace trainyard::gui {
namespace {

constexpr InstructionKind kForward = InstructionKind::kForward;
constexpr InstructionKind kReduce = InstructionKind::kReduce;
constexpr InstructionKind kSend = InstructionKind::kSend;

std::vector<PixelRun> runs_of(const SlicePyramid& pyramid, const TimeView& view, int width) {
  std::vector<PixelRun> runs;
  pyramid.add_runs(view, width, runs);
  return runs;
}

// Slices of 1 to 40 ns with gaps of 0 to 20 ns, of three kinds.
std::vector<Mark> random_marks(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Mark> marks;
  Nanoseconds at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto begin = at + static_cast<Nanoseconds>(random() % 21);
    at = begin + 1 + static_cast<Nanoseconds>(random() % 40);
    const std::array<InstructionKind, 3> kinds = {kForward, kReduce, kSend};
    marks.push_back({begin, at, kinds[random() % 3]});
  }
  return marks;
}

TEST(SlicePyramid, ASliceThatFillsPixelsIsItsOwnRun) {
  const SlicePyramid pyramid({{10, 30, kForward}, {40, 60, kReduce}});
  const std::vector<PixelRun> expected = {{10, 30, kForward, 16, 0}, {40, 60, kReduce, 16, 1}};
  EXPECT_EQ(runs_of(pyramid, {0, 100}, 100), expected);  // a pixel a nanosecond
}

TEST(SlicePyramid, ASliceOfHalfAPixelPalesItInsteadOfVanishing) {
  // 100 ns a pixel; 50 ns at work in the third.
  const SlicePyramid pyramid({{225, 275, kReduce}});
  const std::vector<PixelRun> expected = {{2, 3, kReduce, 8, PixelRun::kSeveral}};
  EXPECT_EQ(runs_of(pyramid, {0, 1000}, 10), expected);
}

TEST(SlicePyramid, APixelShowsTheKindThatTakesMostOfIt) {
  // 60 ns forward, 10 ns send, 30 ns reduce in the same pixel of 100 ns.
  const SlicePyramid pyramid({{0, 60, kForward}, {60, 70, kSend}, {70, 100, kReduce}});
  const std::vector<PixelRun> runs = runs_of(pyramid, {0, 1000}, 10);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].kind, kForward);
  EXPECT_EQ(runs[0].sixteenths, 16);
}

TEST(SlicePyramid, OneShortSliceAmongAMillionNanosecondsOfIdlenessIsSeen) {
  const SlicePyramid pyramid({{500'000, 500'010, kSend}});
  const std::vector<PixelRun> runs = runs_of(pyramid, {0, 1e6}, 1000);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].left, 500);
  EXPECT_EQ(runs[0].kind, kSend);
}

// Zoom levels from all to a few slices: pixels' shares add up to the time at work in the view.
class SlicePyramidZoom : public testing::TestWithParam<double> {};

TEST_P(SlicePyramidZoom, RunsAreOrderedInsideThePictureAndHoldTheWork) {
  const std::vector<Mark> marks = random_marks(20'000, 3);
  const SlicePyramid pyramid(marks);
  const double span = static_cast<double>(marks.back().end) / GetParam();
  const TimeView view = {static_cast<double>(marks.back().end) * 0.3,
                         static_cast<double>(marks.back().end) * 0.3 + span};
  const int width = 700;
  const std::vector<PixelRun> runs = runs_of(pyramid, view, width);
  int last = 0;
  double pixels = 0.0;
  for (const PixelRun& run : runs) {
    EXPECT_GE(run.left, last);
    EXPECT_GT(run.right, run.left);
    EXPECT_LE(run.right, width);
    last = run.right;
    pixels += run.sixteenths / 16.0 * (run.right - run.left);
  }
  const KindTimes totals = pyramid.totals(static_cast<Nanoseconds>(view.begin), static_cast<Nanoseconds>(view.end));
  const auto work = static_cast<double>(std::accumulate(totals.begin(), totals.end(), Nanoseconds{0}));
  // Shares are rounded up to sixteenths, so that a little more is shown, never less.
  EXPECT_GE(pixels * span / width, 0.98 * work);
  EXPECT_LE(pixels * span / width, work + span / 16.0);
}

INSTANTIATE_TEST_SUITE_P(FromAllToAFew, SlicePyramidZoom, testing::Values(1.5, 4.0, 30.0, 300.0, 3000.0));

TEST(SlicePyramid, TotalsOfAnyStretchAreExact) {
  const std::vector<Mark> marks = random_marks(3000, 5);
  const SlicePyramid pyramid(marks);
  std::mt19937 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    const auto a = static_cast<Nanoseconds>(random() % static_cast<unsigned>(marks.back().end));
    const auto b = static_cast<Nanoseconds>(random() % static_cast<unsigned>(marks.back().end));
    KindTimes expected = {};
    for (const Mark& mark : marks) {
      const Nanoseconds overlap = std::min(mark.end, std::max(a, b)) - std::max(mark.begin, std::min(a, b));
      expected[static_cast<std::size_t>(mark.kind)] += std::max<Nanoseconds>(overlap, 0);
    }
    EXPECT_EQ(pyramid.totals(std::min(a, b), std::max(a, b)), expected);
  }
}

TEST(SlicePyramid, FindsTheSliceUnderATimeAndTheNearestBesideIt) {
  const SlicePyramid pyramid({{10, 20, kForward}, {40, 50, kSend}});
  EXPECT_EQ(pyramid.at(10), 0U);
  EXPECT_EQ(pyramid.at(20), std::nullopt);  // the end is not in it
  EXPECT_EQ(pyramid.nearest(22, 5), 0U);
  EXPECT_EQ(pyramid.nearest(38, 5), 1U);
  EXPECT_EQ(pyramid.nearest(30, 5), std::nullopt);
}

TEST(SlicePyramid, SlicesOutOfOrderOrOverlappingAreMadeARow) {
  const SlicePyramid pyramid({{40, 60, kSend}, {0, 50, kForward}});
  ASSERT_EQ(pyramid.marks().size(), 2U);
  EXPECT_EQ(pyramid.marks()[0].end, 50);
  EXPECT_EQ(pyramid.marks()[1].begin, 50);
}

TEST(SlicePyramid, WithoutSlicesNothingIsDrawn) {
  const SlicePyramid pyramid;
  EXPECT_TRUE(runs_of(pyramid, {0, 100}, 100).empty());
  EXPECT_EQ(pyramid.at(5), std::nullopt);
  EXPECT_EQ(pyramid.totals(0, 100), KindTimes{});
}

}  // namespace
}  // namespace trainyard::gui
