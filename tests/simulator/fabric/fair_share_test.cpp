#include "simulator/fabric/fair_share.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "simulator/fabric/lanes.h"
#include "simulator/fabric/progressive_filling.h"
#include "simulator/fabric/sharing_problem.h"
#include "tests/simulator/fabric/fabrics.h"

namespace trainyard::simulator {
namespace {

constexpr double kGB = 1e9;

// Bertsekas and Gallager's line: A on link 0 (10), B on both, C on link 1 (30). Link 0 fills first, at 5 each; C takes
// what B leaves of link 1: 25.
TEST(MaxMin, ALongFlowIsHeldByItsNarrowLinkAndTheShortOneTakesTheRest) {
  const Cluster cluster = chain({10_GBps, 30_GBps});
  FlowSet set;
  add_on_links(set, {}, {0});
  add_on_links(set, {}, {0, 1});
  add_on_links(set, {}, {1});
  const FairShare share = max_min_rates(cluster, set);
  EXPECT_DOUBLE_EQ(share.rate[0].si(), 5 * kGB);
  EXPECT_DOUBLE_EQ(share.rate[1].si(), 5 * kGB);
  EXPECT_DOUBLE_EQ(share.rate[2].si(), 25 * kGB);
  EXPECT_EQ(share.bottleneck[1], forward_arc(LinkId(0)));
  EXPECT_EQ(share.bottleneck[2], forward_arc(LinkId(1)));
  EXPECT_DOUBLE_EQ(share.load[forward_arc(LinkId(1)).at()].si(), 30 * kGB);
  EXPECT_DOUBLE_EQ(share.load[reverse_arc(LinkId(1)).at()].si(), 0.0);
}

// Weights 1 and 3 on 40: 10 and 30.
TEST(MaxMin, WeightsDivideALink) {
  const Cluster cluster = chain({40_GBps});
  FlowSet set;
  add_on_links(set, {.weight = 1.0}, {0});
  add_on_links(set, {.weight = 3.0}, {0});
  const FairShare share = max_min_rates(cluster, set);
  EXPECT_DOUBLE_EQ(share.rate[0].si(), 10 * kGB);
  EXPECT_DOUBLE_EQ(share.rate[1].si(), 30 * kGB);
}

// Three flows on 30, one capped at 4: the others share 26.
TEST(MaxMin, WhatACapLeavesGoesToTheOthers) {
  const Cluster cluster = chain({30_GBps});
  FlowSet set;
  add_on_links(set, {.rate_cap = 4_GBps}, {0});
  add_on_links(set, {}, {0});
  add_on_links(set, {}, {0});
  const FairShare share = max_min_rates(cluster, set);
  EXPECT_DOUBLE_EQ(share.rate[0].si(), 4 * kGB);
  EXPECT_DOUBLE_EQ(share.rate[1].si(), 13 * kGB);
  EXPECT_FALSE(share.bottleneck[0].has_value());
  EXPECT_EQ(share.bottleneck[2], forward_arc(LinkId(0)));
}

// A ring's hops on links of 10 and 40, another flow on the second: the ring moves at 10 everywhere, the other gets 30.
// The hop on the second link names the first link as what holds it.
TEST(MaxMin, ACoupledGroupMovesAtTheRateOfItsSlowest) {
  const Cluster cluster = chain({10_GBps, 40_GBps});
  FlowSet set;
  add_on_links(set, {.bytes = 1_GB, .coupled_group = 7}, {0});
  add_on_links(set, {.bytes = 1_GB, .coupled_group = 7}, {1});
  add_on_links(set, {.bytes = 1_GB}, {1});
  const FairShare share = max_min_rates(cluster, set);
  EXPECT_DOUBLE_EQ(share.rate[0].si(), 10 * kGB);
  EXPECT_DOUBLE_EQ(share.rate[1].si(), 10 * kGB);
  EXPECT_DOUBLE_EQ(share.rate[2].si(), 30 * kGB);
  EXPECT_EQ(share.bottleneck[1], forward_arc(LinkId(0)));
}

// Two hops of a group and a third flow on one link of 30: the group is one commodity that crosses it twice, 10 each.
TEST(MaxMin, TwoHopsOfAGroupOnOneLinkCountTwice) {
  const Cluster cluster = chain({30_GBps});
  FlowSet set;
  add_on_links(set, {.bytes = 1_GB, .coupled_group = 1}, {0});
  add_on_links(set, {.bytes = 1_GB, .coupled_group = 1}, {0});
  add_on_links(set, {.bytes = 1_GB}, {0});
  const FairShare share = max_min_rates(cluster, set);
  for (const BytesPerSecond rate : share.rate) {
    EXPECT_DOUBLE_EQ(rate.si(), 10 * kGB);
  }
}

// Flows of 4 and 1 GB in lock-step on links of their own, 10 each: both end when the larger does, 0.4 s; the smaller
// moves at a quarter of the rate.
TEST(MaxMin, UnequalFlowsOfAGroupEndTogether) {
  const Cluster cluster = chain({10_GBps, 10_GBps});
  FlowSet set;
  add_on_links(set, {.bytes = 4_GB, .coupled_group = 1}, {0});
  add_on_links(set, {.bytes = 1_GB, .coupled_group = 1}, {1});
  EXPECT_DOUBLE_EQ(max_min_rates(cluster, set).rate[1].si(), 2.5 * kGB);
  const FlowTimes times = run_flows(cluster, set);
  EXPECT_DOUBLE_EQ(times.finish[0].si(), 0.4);
  EXPECT_DOUBLE_EQ(times.finish[1].si(), 0.4);
}

// A bundle of four cables, 40 together. Two flows hashed to one cable get 5 each, one alone on another 10; sprayed
// over all, two flows get 20 each.
TEST(MaxMin, AHashedFlowHasAtMostOneCableOfABundle) {
  Cluster cluster;
  const VertexId a = add(cluster, VertexKind::kLeaf, "a");
  const VertexId b = add(cluster, VertexKind::kSpine, "b");
  const ArcId arc = forward_arc(cable(cluster, a, b, 40_GBps, 4));
  const auto on_cable = [&](FlowSet& set, std::int16_t number) {
    const ArcUse use{.arc = arc, .cable = number};
    const LegUse leg{set.add_leg({&use, 1}, Seconds())};
    set.add({}, {&leg, 1});
  };
  FlowSet hashed;
  on_cable(hashed, 2);
  on_cable(hashed, 2);
  on_cable(hashed, 3);
  const FairShare share = max_min_rates(cluster, hashed);
  EXPECT_DOUBLE_EQ(share.rate[0].si(), 5 * kGB);
  EXPECT_DOUBLE_EQ(share.rate[2].si(), 10 * kGB);
  FlowSet sprayed;
  on_cable(sprayed, kAllCables);
  on_cable(sprayed, kAllCables);
  EXPECT_DOUBLE_EQ(max_min_rates(cluster, sprayed).rate[1].si(), 20 * kGB);
  // Both kinds: a sprayed flow puts a quarter on each cable. Cable 2: 2 r + r/4 = 10, r = 40/9.
  on_cable(hashed, kAllCables);
  EXPECT_DOUBLE_EQ(max_min_rates(cluster, hashed).rate[3].si(), 40.0 / 9.0 * kGB);
}

// Link of 30, flows of 1, 2 and 3 GB: 10 each until 0.1 s; then 15 each: 1 GB left of the second takes 1/15 s, to
// 1/6 s; then 30: the third has 3 - 1 - 1 = 1 GB left: 1/30 s, to 0.2 s.
TEST(RunFlows, RatesRiseAsFlowsEnd) {
  const Cluster cluster = chain({30_GBps});
  FlowSet set;
  add_on_links(set, {.bytes = 1_GB}, {0});
  add_on_links(set, {.bytes = 2_GB}, {0});
  add_on_links(set, {.bytes = 3_GB}, {0});
  const FlowTimes times = run_flows(cluster, set);
  EXPECT_NEAR(times.finish[0].si(), 0.1, 1e-12);
  EXPECT_NEAR(times.finish[1].si(), 1.0 / 6.0, 1e-12);
  EXPECT_NEAR(times.finish[2].si(), 0.2, 1e-12);
  EXPECT_NEAR(times.carried[0].si(), 6 * kGB, 1.0);
}

// B on links of 10 and 12, A on the first, C on the second. A = B = 5, C = 7. A (0.5 GB) ends at 0.1 s: B would have
// 10, but link 1 then fills: B = C = 6. C falls from 7 to 6 although a flow ended. B: 2.9 - 0.5 = 2.4 GB at 6: ends at
// 0.5 s. C: 4.3 - 0.7 = 3.6 GB, less 2.4 until then, 1.2 left at 12: 0.6 s.
TEST(RunFlows, AnEndCanSlowAnotherDown) {
  const Cluster cluster = chain({10_GBps, 12_GBps});
  FlowSet set;
  add_on_links(set, {.bytes = 0.5_GB}, {0});
  add_on_links(set, {.bytes = 2.9_GB}, {0, 1});
  add_on_links(set, {.bytes = 4.3_GB}, {1});
  const FlowTimes times = run_flows(cluster, set);
  EXPECT_NEAR(times.finish[0].si(), 0.1, 1e-12);
  EXPECT_NEAR(times.finish[1].si(), 0.5, 1e-12);
  EXPECT_NEAR(times.finish[2].si(), 0.6, 1e-12);
  EXPECT_EQ(times.bottleneck[1], forward_arc(LinkId(1)));  // for 0.4 of its 0.5 s
}

TEST(RunFlows, AnEmptyFlowEndsWithItsLatency) {
  const LeafSpine fabric = leaf_spine(2, 2, 1);
  const FlowSet set = routed(fabric.cluster, {{.source = fabric.hosts[0], .destination = fabric.hosts[3]}}, {});
  EXPECT_NEAR(run_flows(fabric.cluster, set).last.si(), 4e-6, 1e-15);  // four cables of 1 us
}

TEST(RunFlows, NoFlowsTakeNoTime) { EXPECT_EQ(run_flows(chain({10_GBps}), FlowSet()).last, Seconds()); }

// ---- Properties, on random flows over a chain or a routed fabric. ----

FlowSet random_flows(std::mt19937& random, int flows, int links, bool equal_sizes) {
  FlowSet set;
  for (int f = 0; f < flows; ++f) {
    std::vector<int> on;
    for (int l = 0; l < links; ++l) {
      if (random() % 5 == 0) {
        on.push_back(l);
      }
    }
    if (on.empty()) {
      on.push_back(static_cast<int>(random() % static_cast<unsigned>(links)));
    }
    Flow flow{.bytes = (equal_sizes ? 1.0 : 1.0 + static_cast<double>(random() % 1000)) * 1_MiB};
    flow.weight = 1.0 + static_cast<double>(random() % 3);
    if (random() % 7 == 0) {
      flow.rate_cap = static_cast<double>(1 + random() % 5) * 1_GBps;
    }
    if (random() % 5 == 0) {
      flow.coupled_group = static_cast<std::int32_t>(random() % 6);
    }
    add_on_links(set, flow, on);
  }
  return set;
}

Cluster random_chain(std::mt19937& random, int links) {
  std::vector<BytesPerSecond> bandwidths;
  for (int l = 0; l < links; ++l) {
    bandwidths.push_back(static_cast<double>(1 + random() % 20) * 1_GBps);
  }
  return chain(bandwidths);
}

// The definition: no link carries more than it can, and each column has a full link on which none has a higher level,
// or runs at its cap.
void expect_max_min(const Lanes& lanes, const SharingProblem& problem, const std::vector<double>& rate) {
  std::vector<double> carried(problem.rows(), 0.0);
  std::vector<double> highest(problem.rows(), 0.0);
  for (std::size_t r = 0; r < problem.rows(); ++r) {
    for (const Load& load : problem.by_row[r]) {
      carried[r] += load.load * rate[load.at];
      highest[r] = std::max(highest[r], rate[load.at] / problem.weight[load.at]);
    }
    EXPECT_LE(carried[r], problem.capacity[r] * (1 + 1e-9));
  }
  EXPECT_GT(lanes.size(), 0U);
  for (std::size_t c = 0; c < problem.columns(); ++c) {
    bool held = rate[c] >= problem.rate_cap[c] * (1 - 1e-9);
    for (const Load& load : problem.by_column[c]) {
      held = held || (carried[load.at] >= problem.capacity[load.at] * (1 - 1e-9) &&
                      rate[c] / problem.weight[c] >= highest[load.at] * (1 - 1e-9));
    }
    EXPECT_TRUE(held) << "column " << c;
  }
}

TEST(MaxMinProperties, EveryFlowHasABottleneckAndNoLinkCarriesTooMuch) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const Cluster cluster = random_chain(random, 12);
    const FlowSet set = random_flows(random, 40, 12, false);
    const Lanes lanes(cluster);
    const SharingProblem problem = sharing_problem(lanes, set, {.by_bytes = false});
    const FairShare share = max_min_rates(cluster, set);
    std::vector<double> rate(problem.columns());
    for (std::size_t i = 0; i < set.flows().size(); ++i) {
      if (problem.part[i] == 1.0) {
        rate[problem.column_of[i]] = share.rate[i].si();
      }
    }
    expect_max_min(lanes, problem, rate);
  }
}

TEST(MaxMinProperties, SolvingEqualFlowsOnceChangesNothing) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    const Cluster cluster = chain(std::vector<BytesPerSecond>(4, 10_GBps));
    const FlowSet set = random_flows(random, 200, 4, true);  // few kinds of flows
    const Lanes lanes(cluster);
    const SharingProblem reduced = sharing_problem(lanes, set);
    const SharingProblem whole = sharing_problem(lanes, set, {.reduce = false});
    EXPECT_LT(reduced.columns(), whole.columns());
    const auto levels = [](const SharingProblem& problem) {
      ProgressiveFilling filling(problem);
      std::vector<std::uint32_t> all(problem.columns());
      std::iota(all.begin(), all.end(), 0U);
      filling.fill(all);
      return filling;
    };
    const ProgressiveFilling few = levels(reduced);
    const ProgressiveFilling many = levels(whole);
    for (std::size_t i = 0; i < set.flows().size(); ++i) {
      EXPECT_NEAR(few.rate(reduced.column_of[i]), many.rate(whole.column_of[i]), 1.0);
    }
  }
}

// Against the plain way: solve all that still flow anew at each end.
std::vector<double> finish_by_solving_anew(const Cluster& cluster, const FlowSet& all) {
  const std::size_t n = all.flows().size();
  std::vector<double> left;
  for (const Flow& flow : all.flows()) {
    left.push_back(flow.bytes.si());
  }
  std::vector<double> finish(n, -1.0);
  double now = 0.0;
  for (;;) {
    FlowSet live;
    std::vector<std::size_t> index;
    for (std::size_t i = 0; i < n; ++i) {
      if (finish[i] < 0.0) {
        const std::vector<ArcUse> uses = all.uses_of_flow(i);
        const LegUse leg{live.add_leg(uses, Seconds())};
        live.add(all.flows()[i], {&leg, 1});
        index.push_back(i);
      }
    }
    if (index.empty()) {
      return finish;
    }
    const FairShare share = max_min_rates(cluster, live);
    double step = 1e300;
    for (std::size_t k = 0; k < index.size(); ++k) {
      step = std::min(step, left[index[k]] / share.rate[k].si());
    }
    now += step;
    for (std::size_t k = 0; k < index.size(); ++k) {
      double& rest = left[index[k]];
      rest -= step * share.rate[k].si();
      if (rest <= all.flows()[index[k]].bytes.si() * 1e-9) {
        finish[index[k]] = now;
      }
    }
  }
}

TEST(RunFlowsProperties, SolvingOnlyWhatAnEndReachesGivesTheSameTimes) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const Cluster cluster = random_chain(random, 10);
    const FlowSet set = random_flows(random, 40, 10, seed % 4 == 0);
    const std::vector<double> expected = finish_by_solving_anew(cluster, set);
    const FlowTimes times = run_flows(cluster, set);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(times.finish[i].si(), expected[i], 1e-6 * expected[i]) << "seed " << seed << ", flow " << i;
    }
  }
}

double least(const std::vector<BytesPerSecond>& rates) { return std::min_element(rates.begin(), rates.end())->si(); }

// Per flow more bandwidth can slow (RunFlows.AnEndCanSlowAnotherDown shows how); the least rate can't fall: the rates
// from before still fit, and max-min is the fit with the greatest least rate.
TEST(MaxMinProperties, MoreBandwidthNeverLowersTheLeastRateAndLessNeverRaisesIt) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    Cluster cluster = random_chain(random, 8);
    FlowSet set;
    for (int f = 0; f < 30; ++f) {
      add_on_links(set, {.bytes = 1_GB}, {static_cast<int>(random() % 8), static_cast<int>(random() % 8)});
    }
    const double before = least(max_min_rates(cluster, set).rate);
    Link& link = cluster.link(LinkId(static_cast<std::int64_t>(random() % 8)));
    link.bandwidth *= 2.0;
    EXPECT_GE(least(max_min_rates(cluster, set).rate), before * (1 - 1e-12));
    link.bandwidth *= 0.25;
    EXPECT_LE(least(max_min_rates(cluster, set).rate), before * (1 + 1e-12));
  }
}

// Two rings' channels on one path and a flow beside them share 12 GB/s three ways; that the two are solved as one
// commodity must not show. Each ring has a second hop on its own link, which both cross too.
TEST(FairShare, EqualCoupledGroupsShareLikeTwo) {
  const Cluster cluster = chain({12_GBps, 100_GBps});
  FlowSet set;
  const LegUse first{set.add_leg(std::vector<ArcUse>{{.arc = forward_arc(LinkId(0))}}, Seconds())};
  const LegUse second{set.add_leg(std::vector<ArcUse>{{.arc = forward_arc(LinkId(1))}}, Seconds())};
  const auto flow = [](std::optional<std::int32_t> group) {
    Flow made;
    made.bytes = 4_GB;
    made.coupled_group = group;
    return made;
  };
  set.add(flow(0), {&first, 1});
  set.add_on_last_path(flow(1));
  set.add(flow(0), {&second, 1});
  set.add_on_last_path(flow(1));
  set.add(flow(std::nullopt), {&first, 1});
  const FairShare share = max_min_rates(cluster, set);
  for (const BytesPerSecond rate : share.rate) {
    EXPECT_DOUBLE_EQ(rate.si(), 4e9);
  }
  EXPECT_DOUBLE_EQ(share.load[1 * 2].si(), 8e9);
  const FlowTimes times = run_flows(cluster, set);
  EXPECT_EQ(times.solved, 2U);
  EXPECT_DOUBLE_EQ(times.last.si(), 1.0);
}

}  // namespace
}  // namespace trainyard::simulator
