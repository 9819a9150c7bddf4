// What must hold whatever the cluster: more bandwidth doesn't slow, a lost link doesn't speed up, equal nodes are
// equal.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/cluster/builder.h"
#include "simulator/collective/flow_advice.h"
#include "simulator/collective/flow_price.h"
#include "simulator/fabric/what_if.h"
#include "tests/simulator/collective/algorithms/rail_cluster.h"

namespace trainyard::simulator {
namespace {

using enum CollectiveOp;
using enum FlowAlgorithm;

// A group of every GPU; spraying, since with a hash a lost link also means other hashes.
struct Fabric {
  Cluster cluster;
  CollectiveFabric fabric;
  explicit Fabric(Cluster of) : cluster(std::move(of)), fabric(cluster) {}

  double wire(FlowAlgorithm algorithm, CollectiveOp op, const std::vector<VertexId>& ranks,
              RoutingKind routing = RoutingKind::kSpray) {
    const GroupLayout layout = fabric.layout(ranks);
    WireQuestion question;
    question.algorithm = algorithm;
    question.op = op;
    question.routing.kind = routing;
    return together(wire_time(fabric, std::span(&layout, 1), question), {}, 0).seconds;
  }
};

constexpr const char* kFatTree = "fat-tree:hosts=16,gpus=2,radix=8,rail-optimised=no";

std::vector<std::pair<FlowAlgorithm, CollectiveOp>> cases() {
  return {{kRing, kAllReduce},         {kTree, kAllReduce},  {kNvlsTree, kAllReduce},
          {kHierarchical, kAllReduce}, {kRing, kBroadcast},  {kRing, kReduce},
          {kDirect, kAllToAll},        {kDirect, kSendRecv}, {kCollNetDirect, kAllReduce}};
}

TEST(FlowProperties, MoreBandwidthNeverSlows) {
  const Cluster plain = build_cluster(kFatTree);
  Fabric before(plain);
  for (const auto& [algorithm, op] : cases()) {
    const double slow = before.wire(algorithm, op, plain.gpus());
    for (std::size_t link = 0; link < plain.links().size(); link += 37) {
      Cluster faster = plain;
      faster.link(LinkId(static_cast<std::int64_t>(link))).bandwidth *= 2.0;
      faster.link(LinkId(static_cast<std::int64_t>(link))).reverse_bandwidth *= 2.0;
      Fabric after(std::move(faster));
      EXPECT_LE(after.wire(algorithm, op, plain.gpus()), slow * (1.0 + 1e-9)) << to_string(algorithm) << " " << link;
    }
  }
}

TEST(FlowProperties, LosingALinkNeverSpeedsUp) {
  const Cluster plain = build_cluster(kFatTree);
  Fabric before(plain);
  std::vector<std::string> uplinks;
  for (const Link& link : plain.links()) {
    if (plain.vertex(link.from).kind == VertexKind::kLeaf && is_fabric_switch(plain.vertex(link.to).kind)) {
      uplinks.push_back("link:" + plain.vertex(link.from).name + "-" + plain.vertex(link.to).name + "=down");
    }
  }
  ASSERT_GT(uplinks.size(), 4U);
  for (const auto& [algorithm, op] : cases()) {
    const double healthy = before.wire(algorithm, op, plain.gpus());
    for (std::size_t i = 0; i < uplinks.size(); i += 3) {
      Fabric after(with_changes(plain, std::span(&uplinks[i], 1)));
      EXPECT_GE(after.wire(algorithm, op, plain.gpus()), healthy * (1.0 - 1e-9))
          << to_string(algorithm) << " " << uplinks[i];
    }
  }
}

TEST(FlowProperties, EqualNodesInAnotherOrderTakeTheSame) {
  const RailCluster rails(6, 4);
  Fabric fabric(rails.cluster);
  std::vector<VertexId> turned = rails.gpus;
  std::rotate(turned.begin(), turned.begin() + 8, turned.end());
  std::swap_ranges(turned.begin(), turned.begin() + 4, turned.begin() + 12);
  for (const auto& [algorithm, op] : cases()) {
    EXPECT_NEAR(fabric.wire(algorithm, op, turned) / fabric.wire(algorithm, op, rails.gpus), 1.0, 1e-9)
        << to_string(algorithm);
  }
}

// 4 leaves of 4 hosts with 2 NICs each; at 4:1 a leaf's 8 NICs share 2 uplinks. All-to-all sends 3/4 of what leaves a
// host through them, n = 32, m = 2: 24/30. A NIC's cable takes S 30/32, an uplink 4 S 24/32: 3.2 times as long.
TEST(FlowProperties, OversubscriptionSlowsWhatCrossesIt) {
  const Cluster flat = build_cluster("fat-tree:hosts=16,gpus=2,radix=16,rail-optimised=no");
  const Cluster thin = build_cluster("fat-tree:hosts=16,gpus=2,radix=16,rail-optimised=no,oversubscription=4");
  Fabric full(flat);
  Fabric quarter(thin);
  const double before = full.wire(kDirect, kAllToAll, flat.gpus());
  const double after = quarter.wire(kDirect, kAllToAll, thin.gpus());
  EXPECT_GT(after, 1.5 * before);
}

// Neighbours in rank order on different leaves cross the spine; sorted by leaf, only one in four nodes does.
TEST(Advice, SortingRanksByLeafHelpsARingOnAThinSpine) {
  const Cluster cluster = build_cluster("fat-tree:hosts=16,gpus=2,radix=16,rail-optimised=no,oversubscription=4");
  CollectiveFabric fabric(cluster);
  const CollectiveModels models = shipped_collective_models();
  const std::vector<VertexId> gpus = cluster.gpus();
  CollectiveQuestion question;
  question.groups.emplace_back();
  for (std::size_t i = 0; i < 16; ++i) {
    const std::size_t node = i % 4 * 4 + i / 4;
    question.groups.front().push_back(gpus[2 * node]);
    question.groups.front().push_back(gpus[2 * node + 1]);
  }
  question.routing.kind = RoutingKind::kSpray;
  CollectivePricer pricer(fabric, models, question);
  const std::vector<Advice> advice = advise(fabric, models, pricer, kRing, 8_GiB);
  const auto found = std::find_if(advice.begin(), advice.end(),
                                  [](const Advice& a) { return a.change.find("order") != std::string::npos; });
  ASSERT_NE(found, advice.end());
  EXPECT_GT(found->gain, 0.5);
  EXPECT_NEAR(found->gain, found->before / found->after - 1.0, 1e-12);
}

// Without PXN, all-to-all must cross rails, which have no link in common there.
TEST(Advice, LeavesOutWhatTheNetworkCantDo) {
  const Cluster cluster = build_cluster("rail-only:hosts=4,gpus=2");
  CollectiveFabric fabric(cluster);
  const CollectiveModels models = shipped_collective_models();
  CollectiveQuestion question;
  question.op = kAllToAll;
  question.groups = {cluster.gpus()};
  CollectivePricer pricer(fabric, models, question);
  for (const Advice& advice : advise(fabric, models, pricer, kDirect, 1_GiB)) {
    EXPECT_EQ(advice.change.find("PXN"), std::string::npos) << advice.change;
  }
}

}  // namespace
}  // namespace trainyard::simulator
