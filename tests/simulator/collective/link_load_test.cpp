#include "simulator/collective/link_load.h"

#include <gtest/gtest.h>

#include "core/cluster/builder.h"

namespace trainyard::simulator {
namespace {

// Bytes that leave each back-end NIC of the cluster for the fabric.
std::vector<double> sent_by_nics(const Cluster& cluster, const LinkLoads& loads) {
  std::vector<double> sent;
  for (std::size_t l = 0; l < cluster.links().size(); ++l) {
    const LinkId link(static_cast<std::int64_t>(l));
    const Link& of = cluster.link(link);
    if (of.kind != LinkKind::kCable || of.network != Network::kBackend) {
      continue;
    }
    if (cluster.vertex(of.from).kind == VertexKind::kNic) {
      sent.push_back(loads.carried[forward_arc(link).at()].si());
    } else if (cluster.vertex(of.to).kind == VertexKind::kNic) {
      sent.push_back(loads.carried[reverse_arc(link).at()].si());
    }
  }
  return sent;
}

LinkLoads loads_of(CollectiveFabric& fabric, CollectiveOp op, FlowAlgorithm algorithm, Bytes size) {
  const std::vector<GroupLayout> groups = {fabric.layout(fabric.cluster().gpus())};
  WireQuestion question;
  question.algorithm = algorithm;
  question.op = op;
  question.routing.kind = RoutingKind::kAdaptive;
  return link_loads(fabric, groups, question, size);
}

// A ring over 16 ranks on two hosts leaves a host by each of its 8 rails once, with an eighth of what a rank sends,
// S (n-1)/n: 15/16 GiB / 8.
TEST(LinkLoads, ARingPutsAnEighthOfItsTrafficOnEachOfEightNics) {
  const Cluster cluster = build_cluster("fat-tree:hosts=2");
  CollectiveFabric fabric(cluster);
  const LinkLoads loads = loads_of(fabric, CollectiveOp::kReduceScatter, FlowAlgorithm::kRing, 1_GiB);
  const std::vector<double> sent = sent_by_nics(cluster, loads);
  ASSERT_EQ(sent.size(), 16U);
  for (const double bytes : sent) {
    EXPECT_NEAR(bytes, 0x1p30 * 15.0 / 16.0 / 8.0, 1e-6 * 0x1p30);
  }
}

TEST(LinkLoads, GrowWithTheSizeAndAddUp) {
  const Cluster cluster = build_cluster("fat-tree:hosts=2");
  CollectiveFabric fabric(cluster);
  LinkLoads once = loads_of(fabric, CollectiveOp::kAllReduce, FlowAlgorithm::kRing, 1_MiB);
  const LinkLoads thrice = loads_of(fabric, CollectiveOp::kAllReduce, FlowAlgorithm::kRing, 3_MiB);
  const LinkLoads copy = once;
  once.add(copy, 2.0);
  for (std::size_t arc = 0; arc < cluster.arcs(); ++arc) {
    EXPECT_NEAR(once.carried[arc].si(), thrice.carried[arc].si(), 1.0);
    EXPECT_GE(once.fullest[arc].si(), once.carried[arc].si() - 1.0);
  }
}

// 50 GB/s cables: 15/128 GiB take 2.5 ms; within 5 ms a NIC's cable is busy for half of the time.
TEST(LinkLoads, BusyIsTheShareOfTheTimeAtFullRate) {
  const Cluster cluster = build_cluster("fat-tree:hosts=2");
  CollectiveFabric fabric(cluster);
  const LinkLoads loads = loads_of(fabric, CollectiveOp::kReduceScatter, FlowAlgorithm::kRing, 1_GiB);
  double most = 0.0;
  for (std::size_t l = 0; l < cluster.links().size(); ++l) {
    const LinkId link(static_cast<std::int64_t>(l));
    if (cluster.link(link).kind == LinkKind::kCable) {
      most = std::max(most, loads.busy(cluster, forward_arc(link), 5_ms));
    }
  }
  EXPECT_NEAR(most, 0x1p30 * 15.0 / 128.0 / 50e9 / 5e-3, 1e-6);
  EXPECT_EQ(loads.busy(cluster, forward_arc(LinkId(0)), Seconds()), 0.0);
}

}  // namespace
}  // namespace trainyard::simulator
