#include "simulator/collective/flow_price.h"

#include <gtest/gtest.h>

#include "simulator/collective/flow_anchor.h"
#include "simulator/collective/flow_site.h"
#include "tests/simulator/collective/algorithms/rail_cluster.h"
#include "tests/support/error_of.h"

namespace trainyard::simulator {
namespace {

using enum CollectiveOp;
using enum FlowAlgorithm;

struct Priced {
  RailCluster rails;
  CollectiveFabric fabric;
  CollectiveModels models = shipped_collective_models();
  CollectivePricer pricer;

  explicit Priced(RailCluster cluster, CollectiveOp op = kAllReduce, RoutingKind routing = RoutingKind::kAdaptive,
                  int seeds = 1)
      : rails(std::move(cluster)), fabric(rails.cluster), pricer(fabric, models, question(op, routing, seeds)) {}

  CollectiveQuestion question(CollectiveOp op, RoutingKind routing, int seeds) const {
    CollectiveQuestion question;
    question.op = op;
    question.groups = {rails.gpus};
    question.routing.kind = routing;
    question.seeds = seeds;
    return question;
  }
};

TEST(FlowPrice, AnUnloadedSymmetricClusterIsTheCurve) {
  for (const int nodes : {1, 2, 4, 16}) {
    for (const CollectiveOp op : {kAllReduce, kAllGather, kBroadcast, kAllToAll}) {
      Priced priced(RailCluster(nodes, 8), op);
      for (const FlowAlgorithm algorithm : priced.pricer.algorithms()) {
        for (const Bytes size : {8_B, 1_MiB, 64_MiB, 16_GiB}) {
          const CollectivePrice price = priced.pricer.price(algorithm, size);
          const double curve = priced.pricer.curve(algorithm).curve.time(size).si();
          EXPECT_NEAR(price.time.si() / curve, 1.0, 1e-3)
              << to_string(algorithm) << " " << to_string(op) << " on " << nodes << " nodes, " << size.si();
        }
      }
    }
  }
}

// The trees' curve, measured with 8 GPUs a node, is 47.7 GB/s; one rank a node sends 2 S over its 50 GB/s NIC, so that
// the wire carries F/2 = 15/16 of 50 = 46.9. There the wire decides.
TEST(FlowPrice, OneRankANodeIsTheCurveTooWhereTheWireCarriesIt) {
  for (const CollectiveOp op : {kAllReduce, kAllGather, kReduceScatter}) {
    Priced priced{RailCluster(16, 1), op};
    EXPECT_EQ(priced.pricer.site().nics, 1);
    for (const FlowAlgorithm algorithm : priced.pricer.algorithms()) {
      const CollectivePrice price = priced.pricer.price(algorithm, 1_GiB);
      const double ratio = price.time / priced.pricer.curve(algorithm).curve.time(1_GiB);
      EXPECT_NEAR(ratio, 1.0, algorithm == kTree ? 0.02 : 1e-3) << to_string(algorithm);
      EXPECT_GE(ratio, 1.0 - 1e-3);
    }
  }
}

// Links of a tenth and more of what the curves' machines have, one node and several, loaded and not: no prediction and
// no interval above what the bare flows carry.
TEST(FlowPrice, NeitherPriceNorIntervalGoesAboveWhatTheWireCarries) {
  for (const double slower : {1.0, 0.9, 0.1}) {
    for (const auto& [nodes, gpus] : {std::pair(1, 8), {4, 8}, {16, 1}, {2, 4}}) {
      for (const CollectiveOp op : {kAllReduce, kAllGather, kAllToAll}) {
        RailCluster rails(nodes, gpus);
        for (std::size_t i = 0; i < rails.cluster.links().size(); ++i) {
          Link& link = rails.cluster.link(LinkId(static_cast<std::int64_t>(i)));
          link.bandwidth *= slower;
          link.reverse_bandwidth *= slower;
        }
        Priced priced(std::move(rails), op, RoutingKind::kHash, 4);
        for (const FlowAlgorithm algorithm : priced.pricer.algorithms()) {
          const WireTime& wire = priced.pricer.wire(algorithm);
          double least = wire.across.empty() ? 0.0 : wire.across.front().seconds;
          for (const Drain& drain : wire.across) {
            least = std::min(least, drain.seconds);
          }
          const double carried =
              priced.pricer.curve(algorithm).curve.wire_factor / std::max(wire.inside.seconds, least);
          for (const Bytes size : {64_MiB, 16_GiB}) {
            const CollectivePrice price = priced.pricer.price(algorithm, size);
            EXPECT_LE(price.bus_bandwidth.si(), carried * (1.0 + 1e-9)) << to_string(algorithm) << " " << nodes;
            EXPECT_LE(price.high.si(), carried * (1.0 + 1e-9)) << to_string(algorithm) << " " << nodes;
            EXPECT_LE(price.low, price.high);
          }
        }
      }
    }
  }
}

TEST(FlowPrice, FactsOfTheSiteComeFromTheCluster) {
  const Priced priced(RailCluster(4, 8));
  const CollectiveSite& site = priced.pricer.site();
  EXPECT_EQ(site.generation, GpuGeneration::kHopper);
  EXPECT_EQ(site.links, NodeLinks::kNvswitch);
  EXPECT_EQ(site.nodes, 4);
  EXPECT_EQ(site.ranks, 32);
  EXPECT_EQ(site.nics, 8);
  EXPECT_EQ(site.nic_rate, 50_GBps);
  EXPECT_EQ(site.fabric, FabricKind::kInfiniband);
  EXPECT_TRUE(site.nvls);
  EXPECT_EQ(generation_of("NVIDIA GB200"), GpuGeneration::kBlackwell);
  EXPECT_EQ(generation_of("A100-SXM4"), GpuGeneration::kAmpere);
  EXPECT_EQ(generation_of("MI300X"), GpuGeneration::kMi300);
  EXPECT_EQ(generation_of("card"), GpuGeneration::kOther);
}

// A log of the cluster that says 0.8 of the curve at every size from 64 MiB on moves the price that way.
TEST(FlowPrice, AnAnchorMovesThePriceToTheUsersOwnLogAndNarrowsTheInterval) {
  Priced priced(RailCluster(4, 8));
  const CollectivePrice before = priced.pricer.price(kTree, 1_GiB);
  NcclTestsLog log;
  log.nodes = 4;
  log.ranks = 32;
  for (Bytes size = 64_MiB; size <= 16_GiB; size *= 2.0) {
    log.rows.push_back({size, priced.pricer.price(kTree, size).time / 0.8});
  }
  const std::vector<std::pair<std::string, NcclTestsLog>> logs = {{"own.log", log}};
  const CollectiveModels anchored = anchored_on(priced.fabric, priced.models, logs, false);
  CollectiveQuestion question = priced.pricer.question();
  question.series = anchor_series(4, 32, kAllReduce);
  CollectivePricer pricer(priced.fabric, anchored, question);
  const CollectivePrice after = pricer.price(kTree, 1_GiB);
  // More than half of the way: bandwidths stray little between systems, which the prior knows.
  EXPECT_LT(after.bus_bandwidth / before.bus_bandwidth, 0.9);
  EXPECT_LT(after.high / after.low, before.high / before.low);
}

TEST(FlowPrice, AnAnchorOfAnotherClusterIsAnError) {
  Priced priced(RailCluster(2, 2));
  NcclTestsLog log;
  log.nodes = 4;
  log.ranks = 32;
  const std::vector<std::pair<std::string, NcclTestsLog>> logs = {{"own.log", log}};
  EXPECT_EQ(error_of([&] { anchored_on(priced.fabric, priced.models, logs, false); }).where(), "own.log");
}

// Every cable at half rate on one node of four: the ring runs at its slowest hop; latencies stay.
TEST(FlowPrice, OneNodeWithSlowCablesHalvesTheBandwidthOfARing) {
  Priced healthy(RailCluster(4, 8));
  RailCluster slow(4, 8);
  for (std::size_t i = 0; i < slow.cluster.links().size(); ++i) {
    const LinkId id(static_cast<std::int64_t>(i));
    const Link& link = slow.cluster.link(id);
    const std::string& from = slow.cluster.vertex(link.from).name;
    if (link.kind == LinkKind::kCable && from.starts_with("node2/")) {
      slow.cluster.link(id).bandwidth /= 2.0;
      slow.cluster.link(id).reverse_bandwidth /= 2.0;
    }
  }
  CollectiveFabric fabric(slow.cluster);
  CollectivePricer degraded(fabric, healthy.models, healthy.pricer.question(), healthy.pricer);
  const double before = healthy.pricer.price(kRing, 16_GiB).bus_bandwidth.si();
  const CollectivePrice price = degraded.price(kRing, 16_GiB);
  const double across = healthy.pricer.curve(kRing).across->si();
  EXPECT_NEAR(price.bus_bandwidth.si() / (across / 2.0), 1.0, 0.01);
  EXPECT_LT(price.bus_bandwidth.si(), before);
  EXPECT_NE(link_name(slow.cluster, *price.bottleneck).find("node2/nic"), std::string::npos);
  EXPECT_NEAR(degraded.price(kRing, 8_B).time / healthy.pricer.price(kRing, 8_B).time, 1.0, 1e-6);
}

// Two groups of 2 ranks on each of 2 nodes share nothing; two on the same NICs share them.
TEST(FlowPrice, GroupsAtOnceShareTheirNics) {
  const RailCluster rails(4, 2);
  Cluster cluster = rails.cluster;
  CollectiveFabric fabric(cluster);
  const CollectiveModels models = shipped_collective_models();
  const auto time = [&](std::vector<std::vector<VertexId>> groups) {
    CollectiveQuestion question;
    question.groups = std::move(groups);
    question.routing.kind = RoutingKind::kAdaptive;
    return CollectivePricer(fabric, models, question).wire(kRing).across.front().seconds;
  };
  const auto& g = rails.gpus;
  const double alone = time({{g[0], g[2], g[4], g[6]}});
  EXPECT_NEAR(time({{g[0], g[2], g[4], g[6]}, {g[1], g[3], g[5], g[7]}}) / alone, 1.0, 1e-9);
  EXPECT_NEAR(time({{g[0], g[2]}, {g[4], g[6]}}) / time({{g[0], g[2]}}), 1.0, 1e-9);
}

TEST(FlowPrice, ACongestedWireLeavesWhatTheProtocolHoldsBackAlone) {
  Curve curve;
  curve.bandwidth = 100e9;
  curve.levels = {{1.0, 0.0, 100e-6, 1e6}};
  // x = 1 MB = x0: u = 1/2, f = 50 us; alone max(10, 10 + 25) + 25 = 60 us.
  EXPECT_NEAR(collective_time(curve, 1e-11, from_si<Bytes>(1e6)).si(), 60e-6, 1e-12);
  // Half the bandwidth is still more than the protocol takes: max(20, 35) + 25.
  EXPECT_NEAR(collective_time(curve, 2e-11, from_si<Bytes>(1e6)).si(), 60e-6, 1e-12);
  // A tenth isn't: 100 + 25.
  EXPECT_NEAR(collective_time(curve, 1e-10, from_si<Bytes>(1e6)).si(), 125e-6, 1e-12);
}

TEST(FlowPrice, IntervalHoldsThePriceAndWidensWithTheSeeds) {
  Priced priced(RailCluster(8, 4), kAllReduce, RoutingKind::kHash, 8);
  const CollectivePrice price = priced.pricer.price(kRing, 1_GiB);
  EXPECT_LT(price.low, price.bus_bandwidth);
  EXPECT_GT(price.high, price.bus_bandwidth);
  EXPECT_LE(price.best, price.time);
  EXPECT_GE(price.worst, price.time);
}

}  // namespace
}  // namespace trainyard::simulator
