// When the last of equal flows ends, by the busiest lane and by following all rates.
#include "simulator/fabric/busiest_lane.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/cluster/builder.h"
#include "simulator/fabric/routing.h"
#include "simulator/fabric/seed_loads.h"
#include "tests/simulator/fabric/fabrics.h"

namespace trainyard::simulator {
namespace {

Seconds last_by_rates(const Cluster& cluster, const FlowSet& set) {
  const FlowTimes times = run_flows(cluster, set);
  return *std::max_element(times.finish.begin(), times.finish.end());
}

// Each GPU to one further; rings: those of equal place in their host move together.
std::vector<Flow> neighbours(const Cluster& cluster, bool rings, double weight = 1.0) {
  const std::vector<VertexId>& gpus = cluster.gpus();
  std::vector<Flow> flows;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    for (int channel = 0; channel < 2; ++channel) {
      Flow flow{.source = gpus[i], .destination = gpus[(i + 8) % gpus.size()], .bytes = 64_MiB, .channel = channel};
      flow.weight = weight;
      if (rings) {
        flow.coupled_group = static_cast<std::int32_t>(i % 8) * 2 + channel;
      }
      flows.push_back(flow);
    }
  }
  return flows;
}

TEST(BusiestLane, EndsWhenTheLastOfAllFlowsDoes) {
  for (const char* fabric : {"superpod-h100:su=1", "fat-tree:hosts=64,rail-optimised=no,oversubscription=4"}) {
    const Cluster cluster = build_cluster(fabric);
    const ClusterGraph graph(cluster);
    const Lanes lanes(cluster);
    Routes routes(cluster, graph);
    for (const RoutingKind kind :
         {RoutingKind::kHash, RoutingKind::kAdaptive, RoutingKind::kSpray, RoutingKind::kStatic}) {
      for (const bool rings : {false, true}) {
        for (const std::uint64_t seed : {0, 1, 2}) {
          const FlowSet set = routes.route(neighbours(cluster, rings, 2.0), {.kind = kind, .seed = seed});
          const auto last = last_by_busiest_lane(lanes, set);
          ASSERT_TRUE(last.has_value());
          EXPECT_NEAR(last->finish / last_by_rates(cluster, set), 1.0, 1e-12) << fabric << to_string(kind) << rings;
          EXPECT_TRUE(last->bottleneck.has_value());
        }
      }
    }
  }
}

// Further seeds by their lanes' loads alone, of flows so large that latencies don't count: as routed anew.
TEST(SeedLoads, AreThoseOfFlowsRoutedOnEachSeed) {
  for (const char* fabric : {"superpod-h100:su=1", "fat-tree:hosts=64,rail-optimised=no,oversubscription=4"}) {
    const Cluster cluster = build_cluster(fabric);
    const ClusterGraph graph(cluster);
    const Lanes lanes(cluster);
    Routes routes(cluster, graph);
    for (const bool rings : {false, true}) {
      for (const bool hash_queue_pair : {false, true}) {
        std::vector<Flow> flows = neighbours(cluster, rings);
        for (Flow& flow : flows) {
          flow.bytes = from_si<Bytes>(1e15);
        }
        RoutingPolicy policy{.kind = RoutingKind::kHash, .seed = 3, .hash_queue_pair = hash_queue_pair};
        SeedLoads loads(routes, lanes, routes.route(flows, policy), policy);
        double least = 1e300;
        double most = 0.0;
        for (const std::uint64_t seed : {3, 4, 5, 6, 7, 8}) {
          policy.seed = seed;
          const auto anew = last_by_busiest_lane(lanes, routes.route(flows, policy));
          ASSERT_TRUE(anew.has_value());
          const LastFlow last = loads.on_seed(seed);
          EXPECT_NEAR(last.finish / anew->finish, 1.0, 1e-9) << fabric << " seed " << seed;
          EXPECT_TRUE(last.bottleneck.has_value());
          least = std::min(least, last.finish.si());
          most = std::max(most, last.finish.si());
        }
        if (!rings && std::string(fabric).starts_with("fat-tree")) {
          EXPECT_GT(most, 1.01 * least);  // four times oversubscribed: seeds differ
        }
      }
    }
  }
}

// Hops of 4 and 1 GB in lock-step on 10 GB/s each, and 4 GB alone beside the second: 0.5 s, the second link's.
TEST(BusiestLane, OfAGroupTheLargestFlowCounts) {
  const Cluster cluster = chain({10_GBps, 10_GBps});
  FlowSet set;
  add_on_links(set, {.bytes = 4_GB, .coupled_group = 1}, {0});
  add_on_links(set, {.bytes = 1_GB, .coupled_group = 1}, {1});
  add_on_links(set, {.bytes = 4_GB}, {1});
  const auto last = last_by_busiest_lane(Lanes(cluster), set);
  ASSERT_TRUE(last.has_value());
  EXPECT_DOUBLE_EQ(last->finish.si(), 0.5);
  EXPECT_EQ(last->bottleneck, forward_arc(LinkId(1)));
  EXPECT_NEAR(last_by_rates(cluster, set).si(), 0.5, 1e-12);
}

// Three of 1 GB and one of 2 GB, each pair on one link of 10: who is alone later moves faster; no lane says when.
TEST(BusiestLane, SaysNothingOfUnequalOrCappedFlows) {
  const Cluster cluster = chain({10_GBps});
  FlowSet unequal;
  add_on_links(unequal, {.bytes = 1_GB}, {0});
  add_on_links(unequal, {.bytes = 2_GB}, {0});
  EXPECT_FALSE(last_by_busiest_lane(Lanes(cluster), unequal).has_value());
  FlowSet capped;
  add_on_links(capped, {.bytes = 1_GB, .rate_cap = 1_GBps}, {0});
  EXPECT_FALSE(last_by_busiest_lane(Lanes(cluster), capped).has_value());
  FlowSet weighted;
  add_on_links(weighted, {.bytes = 1_GB, .weight = 1.0}, {0});
  add_on_links(weighted, {.bytes = 1_GB, .weight = 2.0}, {0});
  EXPECT_FALSE(last_by_busiest_lane(Lanes(cluster), weighted).has_value());
}

}  // namespace
}  // namespace trainyard::simulator
