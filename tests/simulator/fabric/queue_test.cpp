#include "simulator/fabric/queue.h"

#include <gtest/gtest.h>

#include "tests/simulator/fabric/fabrics.h"

namespace trainyard::simulator {
namespace {

// Hosts on one switch of a buffer, and a second switch with one host, 50 GB/s everywhere.
struct Incast {
  Cluster cluster;
  std::vector<VertexId> hosts;
  VertexId far;
};
Incast incast(int hosts, std::int64_t buffer) {
  Incast made;
  Cluster& cluster = made.cluster;
  const DeviceTypeId nic = cluster.add_device_type({.name = "NIC"});
  const DeviceTypeId type = cluster.add_device_type({.name = "switch", .buffer = ByteCount(buffer)});
  const auto vertex = [&](VertexKind kind, const std::string& name, DeviceTypeId of) {
    return cluster.add_vertex({.kind = kind, .name = name, .type = of});
  };
  const VertexId leaf = vertex(VertexKind::kLeaf, "leaf", type);
  const VertexId other = vertex(VertexKind::kLeaf, "other", type);
  cable(cluster, other, leaf, 50_GBps);
  for (int h = 0; h < hosts; ++h) {
    made.hosts.push_back(vertex(VertexKind::kNic, "host" + std::to_string(h), nic));
    cable(cluster, made.hosts.back(), leaf, 50_GBps);
  }
  made.far = vertex(VertexKind::kNic, "far", nic);
  cable(cluster, made.far, other, 50_GBps);
  return made;
}

std::vector<Flow> all_to_first(const Incast& fabric, Bytes bytes) {
  std::vector<Flow> flows;
  for (std::size_t h = 1; h < fabric.hosts.size(); ++h) {
    flows.push_back({.source = fabric.hosts[h], .destination = fabric.hosts[0], .bytes = bytes});
  }
  return flows;
}

// Four hosts send 1 MB each to a fifth at once: 200 GB/s arrive, 50 drain, for 1 MB / 50 GB/s = 20 us: 150 GB/s x 20 us
// = 3 MB. One full port has half of the buffer.
TEST(Queues, AnIncastNeedsWhatArrivesLessWhatDrains) {
  const Incast fabric = incast(5, 8'000'000);
  const FlowSet set = routed(fabric.cluster, all_to_first(fabric, 0.001_GB), {});
  const std::vector<PortQueue> queues = find_queues(fabric.cluster, set);
  ASSERT_EQ(queues.size(), 1U);
  EXPECT_EQ(fabric.cluster.vertex(fabric.cluster.head(queues[0].arc)).name, "host0");
  EXPECT_NEAR(queues[0].arrival.si(), 200e9, 1.0);
  EXPECT_NEAR(queues[0].burst.si(), 20e-6, 1e-12);
  EXPECT_NEAR(queues[0].need.si(), 3e6, 1e-3);
  EXPECT_NEAR(queues[0].available->si(), 4e6, 1e-3);
  EXPECT_EQ(queues[0].outcome, QueueOutcome::kAbsorbed);
  EXPECT_EQ(queues[0].deep, DeepBuffer::kNotNeeded);
  EXPECT_NEAR(queues[0].delay.si(), 60e-6, 1e-12);
}

TEST(Queues, AFabricWithoutExcessHasNone) {
  const Incast fabric = incast(2, 8'000'000);
  EXPECT_TRUE(find_queues(fabric.cluster, routed(fabric.cluster, all_to_first(fabric, 1_GB), {})).empty());
}

// The same with 1 GB each: 3 GB of queue. PFC pauses the four cables; one more flow from host 1 to host 4 waits behind
// them although its own port is free: a victim. It takes half of host 1's cable, so that 175 GB/s arrive for the full
// port: up to 3.5 times slower.
TEST(Queues, APausedPortHoldsUpFlowsThatDontUseIt) {
  const Incast fabric = incast(5, 8'000'000);
  std::vector<Flow> flows = all_to_first(fabric, 1_GB);
  flows.push_back({.source = fabric.hosts[1], .destination = fabric.far, .bytes = 1_GB});
  const FlowSet set = routed(fabric.cluster, flows, {});
  const std::vector<PortQueue> pfc = find_queues(fabric.cluster, set, {.control = CongestionControl::kPfc});
  ASSERT_EQ(pfc.size(), 1U);
  EXPECT_EQ(pfc[0].outcome, QueueOutcome::kPauses);
  EXPECT_EQ(pfc[0].victims, 1U);
  EXPECT_NEAR(pfc[0].victim_slowdown, 3.5, 1e-9);
  EXPECT_NE(describe(fabric.cluster, pfc[0]).find("1 other flows behind it"), std::string::npos);

  const std::vector<PortQueue> lossy = find_queues(fabric.cluster, set, {.control = CongestionControl::kLossy});
  EXPECT_EQ(lossy[0].outcome, QueueOutcome::kDrops);
  EXPECT_NEAR(lossy[0].lost.si(), lossy[0].need.si() - 4e6, 1.0);
  EXPECT_EQ(lossy[0].victims, 0U);
}

// 0.1 GB each needs 300 MB: more than on-chip memory, less than HBM. 10 GB each is more than any. With congestion
// control that acts in 100 us the 10 GB burst is 150 GB/s x 100 us = 15 MB.
TEST(Queues, ADeepBufferHelpsBetweenWhatAChipAndWhatHbmHolds) {
  const Incast fabric = incast(5, 64'000'000);
  const auto deep = [&](Bytes bytes, const QueueOptions& options) {
    return find_queues(fabric.cluster, routed(fabric.cluster, all_to_first(fabric, bytes), {}), options).at(0);
  };
  EXPECT_EQ(deep(0.1_GB, {}).deep, DeepBuffer::kHelps);
  EXPECT_EQ(deep(10_GB, {}).deep, DeepBuffer::kTooSmallToo);
  EXPECT_EQ(deep(10_GB, {.reaction = 100_us}).deep, DeepBuffer::kNotNeeded);
  EXPECT_NEAR(deep(10_GB, {.reaction = 100_us}).need.si(), 15e6, 1.0);
  EXPECT_NEAR(deep(10_GB, {.in_flight = 1_MiB}).need.si(), 4 * 1048576.0, 1e-3);
}

// Behind a full port only what it drains goes on: two switches in a row, the second isn't full.
TEST(Queues, OnlyTheFirstFullPortOfAPathQueues) {
  const Incast fabric = incast(5, 8'000'000);
  std::vector<Flow> flows;
  for (std::size_t h = 0; h < 4; ++h) {
    flows.push_back({.source = fabric.hosts[h], .destination = fabric.far, .bytes = 1_GB});
  }
  const std::vector<PortQueue> queues = find_queues(fabric.cluster, routed(fabric.cluster, flows, {}));
  ASSERT_EQ(queues.size(), 1U);
  EXPECT_EQ(fabric.cluster.vertex(fabric.cluster.head(queues[0].arc)).name, "other");
}

TEST(Queues, WithoutABufferSizeTheOutcomeIsUnknown) {
  const LeafSpine fabric = leaf_spine(3, 1, 1);
  const FlowSet set = routed(fabric.cluster,
                             {{.source = fabric.hosts[1], .destination = fabric.hosts[0], .bytes = 1_GB},
                              {.source = fabric.hosts[2], .destination = fabric.hosts[0], .bytes = 1_GB}},
                             {});
  EXPECT_EQ(find_queues(fabric.cluster, set).at(0).outcome, QueueOutcome::kUnknown);
}

}  // namespace
}  // namespace trainyard::simulator
