// What ZeRO 2 scatters beside passes, by hand.
#include "simulator/throughput/scatter_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "simulator/throughput/pipeline_play.h"

namespace trainyard::simulator {
namespace {

PassTimes pass(double forward, double input, double weight, double layers, double layer) {
  PassTimes times{.forward = forward, .input = input, .weight = weight};
  times.scattering.layers = layers;
  times.scattering.layer = layer;
  return times;
}

// Layers of 1 s are scattered in 3. The first two begin at 0 and 1; the third when the first is scattered, at 1 + 3;
// the fourth at 7: it ends at 8. Scattered are 1 to 13. The pass behind waits until the third is, at 10.
TEST(ScatterStream, TwoBuffersLetTwoLayersGoAhead) {
  ScatterStream stream;
  const Scatter backward = scatter_of(pass(0, 0, 4, 4, 3), SlotKind::kBackwardWeight, true);
  EXPECT_DOUBLE_EQ(stream.after(0.0, 4.0, backward), 8.0);
  EXPECT_DOUBLE_EQ(stream.all, 13.0);
  EXPECT_DOUBLE_EQ(stream.one_buffer(), 10.0);
  // Four layers: the first of the next backward takes the third's buffer, the second the fourth's. They end at 11 and
  // 14; the third begins at 16, when the first is scattered, the fourth at 19.
  EXPECT_DOUBLE_EQ(stream.after(8.0, 4.0, backward), 20.0);
  EXPECT_DOUBLE_EQ(stream.all, 25.0);
}

// Scattered faster than computed: nothing waits, and the last layer's gradients are left at the end.
TEST(ScatterStream, FasterThanItsBackwardHoldsNothingUp) {
  ScatterStream stream;
  EXPECT_DOUBLE_EQ(stream.after(5.0, 8.0, scatter_of(pass(0, 0, 8, 4, 1), SlotKind::kBackwardWeight, true)), 13.0);
  EXPECT_DOUBLE_EQ(stream.all, 14.0);
}

// A single layer: the next backward's takes the same buffer, and waits until it is scattered.
TEST(ScatterStream, OneLayerHasOneBuffer) {
  ScatterStream stream;
  const Scatter backward = scatter_of(pass(0, 0, 1, 1, 3), SlotKind::kBackwardWeight, true);
  EXPECT_DOUBLE_EQ(stream.after(0.0, 1.0, backward), 1.0);
  EXPECT_DOUBLE_EQ(stream.one_buffer(), 0.0);
  EXPECT_DOUBLE_EQ(stream.after(1.0, 1.0, backward), 5.0);
}

// The head's 2 s come first and the embedding's last: by turns h a, layer b, layer a, embedding b.
// Backwards of 1 each begin at 0, 1, then when the head is scattered at 1 + 2, then when the layer is at 3 + 4 = 7.
TEST(ScatterStream, HeadAndEmbeddingAreParts) {
  PassTimes times = pass(0, 0, 4, 2, 4);
  times.scattering.head = 2.0;
  times.scattering.head_pass = 1.0;
  times.scattering.embedding = 5.0;
  times.scattering.embedding_pass = 1.0;
  ScatterStream stream;
  EXPECT_DOUBLE_EQ(stream.after(0.0, 4.0, scatter_of(times, SlotKind::kBackwardWeight, true)), 8.0);
  // Head 1 to 3, layers 3 to 7 and 7 to 11, embedding 11 to 16.
  EXPECT_DOUBLE_EQ(stream.all, 16.0);
}

// A forward of 2 s beside 1 s of scattering: for that second both take half as long again.
TEST(ScatterStream, PassesBesideItAreSlower) {
  PassTimes times = pass(2, 0, 1, 1, 1);
  times.scattering.slows_forward = 0.5;
  ScatterStream stream;
  const double end = stream.after(0.0, 1.0, scatter_of(times, SlotKind::kBackwardWeight, true));
  EXPECT_DOUBLE_EQ(stream.after(end, 2.0, scatter_of(times, SlotKind::kForward, true)), 1.0 + 2.0 + 0.5);
  EXPECT_DOUBLE_EQ(stream.all, 1.0 + 1.0 + 0.5);
}

// A micro-batch's passes take 2 s each and its four layers 3 each to scatter. A further one adds
//   1f1b    12: the forward begins 3 s before all is scattered, when a buffer is free; 2 s later the backward, whose
//           first layer of 1 s ends when the stream is done with the last
//   zb-h1   13.5: forward and input take 4 s from there, so that the stream is idle for 1 s and the first layer's 0.5
//   gpipe   14: 2 for a forward, which has nothing beside it, and 12 for a backward
TEST(PipelinePlay, ScatteringThatTakesLongerThanAllPassesSetsThePace) {
  PipelinePlay play;
  const std::map<ScheduleKind, double> paces = {
      {ScheduleKind::k1f1b, 12.0}, {ScheduleKind::kZeroBubbleH1, 13.5}, {ScheduleKind::kGpipe, 14.0}};
  for (const auto& [kind, pace] : paces) {
    PipelineShape shape{kind, 4, 1, 64};
    const std::vector<PassTimes> passes(4, pass(2, 2, 2, 4, 3));
    const auto scattered = [&](std::int64_t micro_batches) {
      shape.micro_batches = micro_batches;
      double last = 0.0;
      for (const StageEnd& end : play.ends(shape, passes, 0.0)) {
        EXPECT_LE(end.passes, end.scattered);
        last = std::max(last, end.scattered);
      }
      return last;
    };
    EXPECT_NEAR(scattered(128) - scattered(64), 64 * pace, 1e-9) << to_string(kind);
    // All turns or some and periods: alike but for the fill and the drain of a few micro-batches.
    EXPECT_NEAR(scattered(64) / (64 * pace), 1.0, 0.05) << to_string(kind);
  }
}

}  // namespace
}  // namespace trainyard::simulator
