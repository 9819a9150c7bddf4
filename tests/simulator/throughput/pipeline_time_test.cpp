#include "simulator/throughput/pipeline_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/schedule/schedule.h"
#include "simulator/throughput/pipeline_play.h"

namespace trainyard::simulator {
namespace {

// Four equal stages: forward 1 s, backward to inputs 1 s, to weights 1 s each.
StageTimes equal() { return {4_s, 4_s, 4_s, 3_s}; }

TEST(Bubble, WithPostValidationWeightGradientsFillItAsInQiEtAl) {
  // Table 1 there: ZB-H1 (p-1)(f + b - w) = 3 s, ZB-H2 (p-1)(f + b - 2w) = 0.
  EXPECT_NEAR(post_validation_bubble(ScheduleKind::kZeroBubbleH1, equal()).si(), 3.0, 1e-12);
  EXPECT_NEAR(post_validation_bubble(ScheduleKind::kZeroBubbleH2, equal()).si(), 0.0, 1e-12);
  EXPECT_NEAR(post_validation_bubble(ScheduleKind::kZeroBubbleV, equal()).si(), 0.0, 1e-12);
}

double last(const StageEnds& ends) { return *std::max_element(ends.begin(), ends.end()); }

std::vector<PassTimes> equal_passes(const PipelineShape& shape, PassTimes pass) {
  return std::vector<PassTimes>(static_cast<std::size_t>(shape.stages) * static_cast<std::size_t>(shape.chunks), pass);
}

TEST(PipelinePlay, OneForwardOneBackwardWaitsForTheOtherStages) {
  // (m + p - 1)(f + i + w), Narayanan et al. 2021: 8 + 3 times 3 s; GPipe alike.
  PipelinePlay play;
  for (const ScheduleKind kind : {ScheduleKind::k1f1b, ScheduleKind::kGpipe}) {
    const PipelineShape shape{kind, 4, 1, 8};
    EXPECT_NEAR(last(play.ends(shape, equal_passes(shape, {1, 1, 1}), 0.0)), 33.0, 1e-12);
  }
}

TEST(PipelinePlay, InterleavingDividesTheBubble) {
  // Chunks of half a stage: m (f + i + w) + (p - 1)(f + i + w) / v = 8 x 3 + 3 x 3 / 2.
  PipelinePlay play;
  const PipelineShape shape{ScheduleKind::kInterleaved, 4, 2, 8};
  EXPECT_NEAR(last(play.ends(shape, equal_passes(shape, {0.5, 0.5, 0.5}), 0.0)), 28.5, 1e-12);
}

TEST(PipelinePlay, ZeroBubbleLeavesTheFillOfEqualPasses) {
  // ZB-H1 (p-1)(f + i - w) and, as every rank waits for the last, the last weight gradients: (p-1) max(f + i - w, i).
  PipelinePlay play;
  const PipelineShape h1{ScheduleKind::kZeroBubbleH1, 4, 1, 16};
  EXPECT_NEAR(last(play.ends(h1, equal_passes(h1, {1, 1, 1}), 0.0)), 16 * 3 + 3, 1e-12);
  // ZB-H2: the fill, (p-1) f.
  const PipelineShape h2{ScheduleKind::kZeroBubbleH2, 4, 1, 16};
  EXPECT_NEAR(last(play.ends(h2, equal_passes(h2, {1, 1, 1}), 0.0)), 16 * 3 + 3, 1e-12);
}

TEST(PipelinePlay, TransfersDelayFillAndDrainAndEveryOtherPassBetween) {
  // GPipe: (m + p - 1)(f + i + w), and x for each of the 2 (p - 1) stage boundaries that the fills cross.
  PipelinePlay play;
  const PipelineShape shape{ScheduleKind::kGpipe, 4, 1, 8};
  EXPECT_NEAR(last(play.ends(shape, equal_passes(shape, {1, 1, 1}), 0.25)), 33.0 + 6 * 0.25, 1e-12);
}

// A long step is the period added to a short one: what every one of its turns takes, within a period's hundredth.
TEST(PipelinePlay, ALongStepIsAShortOneAndItsPeriods) {
  PipelinePlay play;
  for (const ScheduleKind kind :
       {ScheduleKind::kGpipe, ScheduleKind::k1f1b, ScheduleKind::kInterleaved, ScheduleKind::kZeroBubbleH1,
        ScheduleKind::kZeroBubbleH2, ScheduleKind::kZeroBubbleV, ScheduleKind::kDualPipe}) {
    const bool two =
        kind == ScheduleKind::kInterleaved || kind == ScheduleKind::kZeroBubbleV || kind == ScheduleKind::kDualPipe;
    const PipelineShape shape{kind, 4, two ? 2 : 1, 8};
    std::vector<PassTimes> passes = equal_passes(shape, {1.0, 1.3, 0.9});
    passes.back() = {1.2, 1.5, 1.1};  // the head
    double before = 0.0;
    for (const std::int64_t micro_batches : {32, 64, 96}) {
      PipelineShape longer = shape;
      longer.micro_batches = micro_batches;
      const double end = last(play.ends(longer, passes, 0.05));
      if (before > 0.0) {
        // The slowest stage's work of 32 more micro-batches, at least.
        double slowest = 0.0;
        for (std::size_t stage = 0; stage < 4; ++stage) {
          double own = 0.0;
          for (std::size_t i = 0; i < static_cast<std::size_t>(shape.chunks); ++i) {
            own += passes[stage * static_cast<std::size_t>(shape.chunks) + i].sum();
          }
          slowest = std::max(slowest, own * (kind == ScheduleKind::kDualPipe ? 0.5 : 1.0));
        }
        EXPECT_GE(end - before, 32 * slowest * (1 - 1e-12)) << to_string(kind);
        EXPECT_LE(end - before, 32 * (slowest + 0.1)) << to_string(kind);
      }
      before = end;
    }
  }
}

}  // namespace
}  // namespace trainyard::simulator
