// Time that steps wait for data, by hand.
#include "simulator/step/input_feed.h"

#include <gtest/gtest.h>

namespace trainyard::simulator {
namespace {

Seconds seconds(double value) { return from_si<Seconds>(value); }

// 64 sequences of 1 GB a step over 16 replicas, 4 each; 8 ranks a node of 4 a replica: 2 replicas, 8 GB a node.
Layout sixteen_replicas() {
  Layout layout;
  layout.tensor = 4;
  layout.data = 16;
  layout.accumulation = 4;
  return layout;
}

InputFeed feed_of(double node, double storage) {
  InputFeed feed;
  feed.sample = from_si<Bytes>(1e9);
  feed.node = from_si<BytesPerSecond>(node);
  feed.storage = from_si<BytesPerSecond>(storage);
  feed.ranks_per_node = 8;
  return feed;
}

// 8 GB over 4 GB/s; then 64 GB over 16 GB/s.
TEST(InputFeed, TheSlowerOfNodesAndStorageSetsTheTime) {
  EXPECT_NEAR(input_time(feed_of(4e9, 1e12), sixteen_replicas()).si(), 2.0, 1e-12);
  EXPECT_NEAR(input_time(feed_of(1e12, 16e9), sixteen_replicas()).si(), 4.0, 1e-12);
}

// The first stage reads tokens, the last targets; a replica wider than a node is one on each of its nodes.
TEST(InputFeed, APipelineReadsTwiceAndAWideReplicaIsOneANode) {
  Layout pipeline = sixteen_replicas();
  pipeline.pipeline = 4;
  EXPECT_NEAR(input_time(feed_of(1e12, 16e9), pipeline).si(), 8.0, 1e-12);
  Layout wide = sixteen_replicas();
  wide.tensor = 16;
  EXPECT_NEAR(input_time(feed_of(4e9, 1e12), wide).si(), 1.0, 1e-12);
}

// A step of 3 s hides 2 s of reading, and of 4 s all but one.
TEST(InputFeed, WhatAStepTakesIsHidden) {
  EXPECT_EQ(input_stall(feed_of(4e9, 1e12), sixteen_replicas(), seconds(3.0)).si(), 0.0);
  EXPECT_NEAR(input_stall(feed_of(1e12, 16e9), sixteen_replicas(), seconds(3.0)).si(), 1.0, 1e-12);
}

// Stages of 16 ranks span two nodes of 8: both read.
TEST(InputFeed, StorageIsReadByEachNodeOfAStage) {
  Layout wide = sixteen_replicas();
  wide.context = 4;
  EXPECT_NEAR(input_time(feed_of(1e12, 16e9), wide).si(), 8.0, 1e-12);
}

// Reading takes 2 s alone and 4 beside a write, so that steps of 3 s take 4 then. A write of 8 s every 10 steps is
// beside a share w = 8 / (10 S) of the time, and S = (1 - w) 3 + w 4: S^2 - 3 S - 0.8 = 0, S = 3.2464. One that takes
// longer than the steps between is beside all.
TEST(InputFeed, AWriteOfACheckpointSharesTheWay) {
  InputFeed feed = feed_of(4e9, 1e12);
  feed.write = seconds(8.0);
  feed.steps_between_writes = 10;
  const double mean = 3.0 + input_stall(feed, sixteen_replicas(), seconds(3.0)).si();
  EXPECT_NEAR(mean, 3.2464, 1e-4);
  const double share = 8.0 / (10.0 * mean);
  EXPECT_NEAR(mean, (1.0 - share) * 3.0 + share * 4.0, 1e-12);
  feed.write = seconds(600.0);
  EXPECT_NEAR(input_stall(feed, sixteen_replicas(), seconds(3.0)).si(), 1.0, 1e-12);
}

// A write takes its time whatever the steps do: a layout with quicker steps has more of them beside it, but is never
// slower in all.
TEST(InputFeed, AFasterStepIsNeverSlowerInAll) {
  for (const double write : {0.0, 1.0, 6.0, 39.0, 40.0, 41.0, 600.0}) {
    InputFeed feed = feed_of(4e9, 1e12);
    feed.write = seconds(write);
    feed.steps_between_writes = 10;
    double before = 0.0;
    for (double step = 0.05; step < 6.0; step += 0.05) {
      const double all = step + input_stall(feed, sixteen_replicas(), seconds(step)).si();
      EXPECT_GE(all, before * (1.0 - 1e-12)) << write << " s of writing, steps of " << step << " s";
      before = all;
    }
  }
}

// More of anything never makes it wait longer.
TEST(InputFeed, FasterFrontEndsAndStoragesNeverStallMore) {
  Seconds before = seconds(1e9);
  for (const double faster : {0.25, 0.5, 1.0, 2.0, 4.0, 8.0}) {
    InputFeed feed = feed_of(faster * 1e9, faster * 8e9);
    feed.write = seconds(6.0);
    feed.steps_between_writes = 10;
    const Seconds stall = input_stall(feed, sixteen_replicas(), seconds(3.0));
    EXPECT_LE(stall, before);
    before = stall;
  }
  EXPECT_EQ(before.si(), 0.0);
}

// Reading takes 2 s, beside a write 4. What a step of 2.5, 3.9 or 5 s takes leads back to it, with writes and without;
// what one of 1 s or 1.9 s takes, 2 s without writes, leads nowhere. With a write that never ends all below 4 s take 4.
TEST(InputFeed, AMeasuredStepLeadsBackToItsOwnTimeWhereItWaitsForLittle) {
  InputFeed feed = feed_of(4e9, 1e12);
  const Layout layout = sixteen_replicas();
  const auto own = [&](double step) {
    return without_input_stall(feed, layout, seconds(step) + input_stall(feed, layout, seconds(step)));
  };
  for (const double write : {0.0, 8.0}) {
    feed.write = seconds(write);
    feed.steps_between_writes = write > 0.0 ? 10 : 0;
    for (const double step : {2.5, 3.9, 5.0}) {
      ASSERT_TRUE(own(step).has_value()) << write << " " << step;
      EXPECT_NEAR(own(step)->si(), step, 1e-9);
    }
    EXPECT_FALSE(own(1.0).has_value());
    EXPECT_FALSE(own(1.9).has_value());
  }
  feed.write = seconds(80.0);
  EXPECT_FALSE(own(3.9).has_value());
  EXPECT_NEAR(own(5.0)->si(), 5.0, 1e-9);
}

}  // namespace
}  // namespace trainyard::simulator
