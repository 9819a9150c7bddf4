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

// Reading takes 2 s alone and 4 beside a write, a second more than the step. A write of 6 s every 10 steps of 3 s is
// beside a fifth of them: 0.2 s each on average. One that never ends is beside all.
TEST(InputFeed, AWriteOfACheckpointSharesTheWay) {
  InputFeed feed = feed_of(4e9, 1e12);
  feed.write = seconds(6.0);
  feed.steps_between_writes = 10;
  EXPECT_NEAR(input_stall(feed, sixteen_replicas(), seconds(3.0)).si(), 0.2, 1e-12);
  feed.write = seconds(600.0);
  EXPECT_NEAR(input_stall(feed, sixteen_replicas(), seconds(3.0)).si(), 1.0, 1e-12);
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

}  // namespace
}  // namespace trainyard::simulator
