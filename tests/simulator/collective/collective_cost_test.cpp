#include "simulator/collective/collective_cost.h"

#include <gtest/gtest.h>

#include "simulator/collective/analytic_collectives.h"
#include "simulator/collective/measured_collectives.h"

namespace trainyard::simulator {
namespace {

using enum CommunicationKind;
using enum CollectiveAlgorithm;

AnalyticProfile round_numbers() {
  AnalyticProfile profile;
  profile.accelerator.intra_node_bandwidth.value = 100_GBps;
  profile.accelerator.intra_node_latency.value = 1_us;
  profile.accelerator.collective_overhead.value = 10_us;
  profile.accelerator.efficiency.intra_node.value = 1.0;
  profile.accelerator.efficiency.inter_node.value = 0.5;
  profile.fabric.nic_bandwidth.value = 50_GBps;
  profile.fabric.nic_latency.value = 5_us;
  return profile;
}

// In one node, n = 8, V = 1 GB: 2 * 7/8 * 1e9 / 1e11 = 17.5 ms, 14 steps of 1 us, 10 us: 17.524 ms.
TEST(AnalyticCollectives, RingAllReduceInANode) {
  const AnalyticCollectives costs(round_numbers());
  EXPECT_NEAR(costs.time(kAllReduce, kRing, ByteCount(1000000000), {8, 8}).si(), 17.524e-3, 1e-9);
}

// 32 ranks on 4 nodes of 8, all-gather of 1 GB: node 7/8 * 1e9/1e11 = 8.75 ms + 7 us; network
// 3/4 * (1e9/8) / (50e9 * 0.5) = 3.75 ms + 3 * 5 us; 10 us.
TEST(AnalyticCollectives, AllGatherOverNodesAddsTheNetworkLevel) {
  const AnalyticCollectives costs(round_numbers());
  EXPECT_NEAR(costs.time(kAllGather, kRing, ByteCount(1000000000), {32, 8}).si(),
              8.75e-3 + 7e-6 + 3.75e-3 + 15e-6 + 10e-6, 1e-9);
}

TEST(AnalyticCollectives, ATransferCrossesTheLevelBetweenItsEnds) {
  const AnalyticCollectives costs(round_numbers());
  EXPECT_NEAR(costs.time(kSend, kDirect, ByteCount(100000000), {2, 2}).si(), 1e-3 + 1e-6 + 10e-6, 1e-9);
  EXPECT_NEAR(costs.time(kSend, kDirect, ByteCount(100000000), {2, 1}).si(), 4e-3 + 5e-6 + 10e-6, 1e-9);
}

TEST(AnalyticCollectives, MoreBandwidthNeverSlowsACollective) {
  for (const CommunicationKind kind : {kAllReduce, kAllGather, kSend, kAllToAll, kBroadcast}) {
    for (const CollectiveAlgorithm algorithm : {kRing, kDirect, kTree}) {
      double before = 1e9;
      for (const BytesPerSecond nic : {25_GBps, 50_GBps, 100_GBps}) {
        AnalyticProfile profile = round_numbers();
        profile.fabric.nic_bandwidth.value = nic;
        const double time = AnalyticCollectives(profile).time(kind, algorithm, ByteCount(1 << 24), {32, 8}).si();
        EXPECT_LE(time, before);
        before = time;
      }
    }
  }
}

Concurrency sampled() {
  Concurrency set;
  for (const std::int64_t bytes : {1000, 10000, 100000}) {
    const double size = static_cast<double>(bytes);
    set.collectives.push_back({kAllReduce, kRing, 2, ByteCount(bytes), from_si<Seconds>(20e-6 + size * 1e-9)});
    set.collectives.push_back({kSend, kDirect, 2, ByteCount(bytes), from_si<Seconds>(10e-6 + size * 1e-9)});
  }
  set.overlap = {{2, 1.3, 1.2}};
  return set;
}

TEST(MeasuredCollectives, SamplesAreReproducedAndLargePayloadsGrowWithTheirSize) {
  const MeasuredCollectives costs(sampled(), "test");
  for (const CollectiveSample& sample : sampled().collectives) {
    EXPECT_NEAR(costs.time(sample.kind, sample.algorithm, sample.payload, {2, 2}).si(), sample.time.si(), 1e-12);
  }
  const double largest = costs.time(kAllReduce, kRing, ByteCount(100000), {2, 2}).si();
  EXPECT_NEAR(costs.time(kAllReduce, kRing, ByteCount(200000), {2, 2}).si(), 2 * largest, 1e-12);
}

// From 2 to 4 members: start 21 us times 6/2 steps; the rest times (2*3/4) / (2*1/2).
TEST(MeasuredCollectives, AGroupSizeThatWasNotSampledIsScaledByStepsAndBytes) {
  const MeasuredCollectives costs(sampled(), "test");
  EXPECT_NEAR(costs.time(kAllReduce, kRing, ByteCount(100000), {4, 4}).si(), 21e-6 * 3 + (120e-6 - 21e-6) * 1.5, 1e-12);
}

// Ring all-gather of 2 members, not sampled: one send of half the bytes.
TEST(MeasuredCollectives, AKindThatWasNotSampledIsPricedAsSends) {
  const MeasuredCollectives costs(sampled(), "test");
  EXPECT_NEAR(costs.time(kAllGather, kRing, ByteCount(20000), {2, 2}).si(), 20e-6, 1e-12);
}

TEST(MeasuredCollectives, OverlapIsOfTheNearestSampledGroup) {
  const MeasuredCollectives costs(sampled(), "test");
  EXPECT_DOUBLE_EQ(costs.overlap(4).compute, 1.3);
}

}  // namespace
}  // namespace trainyard::simulator
