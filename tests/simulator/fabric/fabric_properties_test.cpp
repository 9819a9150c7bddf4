// What must hold of routes and shares together: closed forms, symmetry, and that changes of the fabric show.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/cluster/builder.h"
#include "simulator/fabric/fair_share.h"
#include "simulator/fabric/routing.h"
#include "simulator/fabric/seed_spread.h"
#include "simulator/fabric/what_if.h"
#include "tests/simulator/fabric/fabrics.h"

namespace trainyard::simulator {
namespace {

// Each host to the host `distance` further, `pairs` queue pairs each.
std::vector<Flow> shifted(const std::vector<VertexId>& hosts, std::size_t distance, int pairs) {
  std::vector<Flow> flows;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    for (int qp = 0; qp < pairs; ++qp) {
      flows.push_back(
          {.source = hosts[i], .destination = hosts[(i + distance) % hosts.size()], .bytes = 64_MiB, .queue_pair = qp});
    }
  }
  return flows;
}

// All-to-all of n hosts sprayed over a full fabric: each NIC sends (n-1) messages of b bytes: time (n-1) b / B, and
// four cables of 1 us. 2 x 240 commodities alike but for the tiers they cross: two are solved.
TEST(FabricProperties, AllToAllSprayedOverAFullFabricRunsAtTheNic) {
  const LeafSpine fabric = leaf_spine(4, 4, 4);
  std::vector<Flow> flows;
  for (const VertexId from : fabric.hosts) {
    for (const VertexId to : fabric.hosts) {
      if (from != to) {
        flows.push_back({.source = from, .destination = to, .bytes = 64_MiB});
      }
    }
  }
  const FlowTimes times = run_flows(fabric.cluster, routed(fabric.cluster, flows, {.kind = RoutingKind::kSpray}));
  EXPECT_NEAR(times.last.si(), 15 * 67108864.0 / 50e9 + 4e-6, 1e-12);
  EXPECT_EQ(times.solved, 2U);
}

// Half the spines: what crosses leaves, 12 of 15 messages from 4 hosts, has 2 cables: 4 x 12 b / (2 B) = 24 b / B.
TEST(FabricProperties, HalfTheSpinesMakeTheUplinksTheBottleneck) {
  const LeafSpine fabric = leaf_spine(4, 4, 2);
  std::vector<Flow> flows;
  for (const VertexId from : fabric.hosts) {
    for (const VertexId to : fabric.hosts) {
      if (from != to) {
        flows.push_back({.source = from, .destination = to, .bytes = 64_MiB});
      }
    }
  }
  const FlowTimes times = run_flows(fabric.cluster, routed(fabric.cluster, flows, {.kind = RoutingKind::kSpray}));
  EXPECT_NEAR(times.last.si(), 24 * 67108864.0 / 50e9 + 4e-6, 1e-12);
  const ArcId held_by = times.bottleneck[3].value();  // host 0 to host 4, on another leaf
  EXPECT_EQ(fabric.cluster.vertex(fabric.cluster.head(held_by)).kind, VertexKind::kSpine);
}

double bytes_times_hops(const FlowSet& set) {
  double sum = 0.0;
  for (std::size_t i = 0; i < set.flows().size(); ++i) {
    for (const ArcUse& use : set.uses_of_flow(i)) {
      sum += use.weight * set.flows()[i].bytes.si();
    }
  }
  return sum;
}

// Of a hashed, an adaptive and a sprayed set, equal flows taken together or each on its own: the finish is the same but
// for rounding.
TEST(FabricProperties, TheLastToEndIsTheLatestOfAllFlows) {
  const Cluster cluster = build_cluster("superpod-h100:su=1");
  const ClusterGraph graph(cluster);
  const Lanes lanes(cluster);
  Routes routes(cluster, graph);
  for (const RoutingKind kind : {RoutingKind::kHash, RoutingKind::kAdaptive, RoutingKind::kSpray}) {
    const FlowSet set = routes.route(shifted(cluster.gpus(), 40, 2), {.kind = kind});
    const FlowTimes times = run_flows(cluster, set);
    const auto last = std::max_element(times.finish.begin(), times.finish.end());
    const LastFlow together = last_to_end(lanes, set, true);
    EXPECT_EQ(together.finish.si(), last->si());
    EXPECT_EQ(together.bottleneck, times.bottleneck[static_cast<std::size_t>(last - times.finish.begin())]);
    const LastFlow apart = last_to_end(lanes, set, false);
    EXPECT_NEAR(apart.finish.si() / last->si(), 1.0, 1e-9);
    EXPECT_TRUE(apart.bottleneck.has_value());
  }
}

TEST(FabricProperties, CarriedBytesAreThoseOfTheFlowsOnEveryLink) {
  const Cluster cluster = build_cluster("superpod-h100:su=1");
  const ClusterGraph graph(cluster);
  Routes routes(cluster, graph);
  for (const RoutingKind kind : {RoutingKind::kHash, RoutingKind::kSpray}) {
    const FlowSet set = routes.route(shifted(cluster.gpus(), 8, 2), {.kind = kind});
    double carried = 0.0;
    for (const Bytes bytes : run_flows(cluster, set).carried) {
      carried += bytes.si();
    }
    EXPECT_NEAR(carried / bytes_times_hops(set), 1.0, 1e-12);
  }
}

// Hosts of a leaf are equal, and leaves are: any order of them gives the same times.
TEST(FabricProperties, PermutingEqualHostsChangesNothing) {
  const LeafSpine fabric = leaf_spine(4, 4, 2);
  std::vector<VertexId> other = fabric.hosts;
  std::reverse(other.begin(), other.end());
  std::swap(other[1], other[2]);
  const auto sorted_times = [&](const std::vector<VertexId>& hosts) {
    std::vector<Flow> flows = shifted(hosts, 4, 1);
    for (std::size_t i = 0; i < 3; ++i) {
      flows.push_back({.source = hosts[i], .destination = hosts[12], .bytes = 64_MiB});
    }
    FlowTimes times = run_flows(fabric.cluster, routed(fabric.cluster, flows, {.kind = RoutingKind::kSpray}));
    std::sort(times.finish.begin(), times.finish.end());
    return times.finish;
  };
  const std::vector<Seconds> first = sorted_times(fabric.hosts);
  const std::vector<Seconds> second = sorted_times(other);
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_NEAR(first[i].si(), second[i].si(), 1e-9 * first[i].si());
  }
}

Seconds last_of(const Cluster& cluster, RoutingKind kind) {
  const ClusterGraph graph(cluster);
  const std::vector<VertexId> hosts = cluster.of_kind(VertexKind::kNic);
  return run_flows(cluster, Routes(cluster, graph).route(shifted(hosts, 4, 1), {.kind = kind})).last;
}

TEST(FabricProperties, LosingALinkOrASwitchNeverSpeedsUpAndItsLossShows) {
  const LeafSpine fabric = leaf_spine(4, 4, 4);
  const Seconds whole = last_of(fabric.cluster, RoutingKind::kSpray);
  for (const char* change : {"link:leaf0-spine1=down", "link:leaf3-spine0=half", "switch:spine2=down", "nic:host5=0.5",
                             "link:leaf0-spine1=flap:0.3"}) {
    const std::string text = change;
    const Cluster changed = with_changes(fabric.cluster, {&text, 1});
    EXPECT_GT(last_of(changed, RoutingKind::kSpray), whole) << change;
  }
  // Of four equal ways one is gone: three carry what four did.
  const std::string spine = "switch:spine2=down";
  EXPECT_NEAR(last_of(with_changes(fabric.cluster, {&spine, 1}), RoutingKind::kSpray).si(),
              67108864.0 / 50e9 * 4.0 / 3.0 + 4e-6, 1e-12);
  // A sprayed flow waits for its slowest way: half a cable is half the rate.
  const std::string half = "link:leaf0-spine1=half";
  EXPECT_NEAR(last_of(with_changes(fabric.cluster, {&half, 1}), RoutingKind::kSpray).si(),
              67108864.0 / 50e9 * 2.0 + 4e-6, 1e-12);
}

TEST(FabricProperties, AnotherTopologyGivesAnotherAnswer) {
  EXPECT_LT(last_of(leaf_spine(4, 4, 4).cluster, RoutingKind::kSpray),
            last_of(leaf_spine(4, 4, 2).cluster, RoutingKind::kSpray));
}

TEST(SeedSpread, HashingSpreadsAndSprayingDoesNot) {
  const LeafSpine fabric = leaf_spine(8, 4, 8);
  const ClusterGraph graph(fabric.cluster);
  Routes routes(fabric.cluster, graph);
  const std::vector<Flow> flows = shifted(fabric.hosts, 8, 1);
  const SeedSpread hash = finish_spread(routes, flows, {}, 20);
  ASSERT_EQ(hash.sorted.size(), 20U);
  EXPECT_LE(hash.low(), hash.median());
  EXPECT_LT(hash.low(), hash.high());
  EXPECT_GE(hash.sorted.front(), 67108864.0 / 50e9);
  const SeedSpread spray = finish_spread(routes, flows, {.kind = RoutingKind::kSpray}, 20);
  EXPECT_EQ(spray.sorted.size(), 1U);
  EXPECT_NEAR(spray.median(), 67108864.0 / 50e9 + 4e-6, 1e-12);
  // Eight queue pairs a message even the draw out.
  EXPECT_LT(finish_spread(
                routes,
                [&] {
                  std::vector<Flow> eight = shifted(fabric.hosts, 8, 8);
                  for (Flow& flow : eight) {
                    flow.bytes /= 8.0;
                  }
                  return eight;
                }(),
                {}, 20)
                .median(),
            hash.median());
}

TEST(SeedSpread, PercentilesAreInterpolated) {
  const SeedSpread spread{{1.0, 2.0, 4.0}};
  EXPECT_DOUBLE_EQ(spread.median(), 2.0);
  EXPECT_DOUBLE_EQ(spread.percentile(0.75), 3.0);
  EXPECT_DOUBLE_EQ(spread.high(), 3.8);
}

}  // namespace
}  // namespace trainyard::simulator
