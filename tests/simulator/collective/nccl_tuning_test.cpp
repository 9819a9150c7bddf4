#include "simulator/collective/nccl_tuning.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "simulator/collective/collective_choice.h"

namespace trainyard::simulator {
namespace {

CollectiveSite node_of(GpuGeneration generation) {
  CollectiveSite site;
  site.generation = generation;
  site.nvls = generation == GpuGeneration::kHopper || generation == GpuGeneration::kBlackwell;
  return site;
}

CollectiveSite nodes_of_h100(int nodes, CpuVendor cpu = CpuVendor::kIntel) {
  CollectiveSite site = node_of(GpuGeneration::kHopper);
  site.nodes = nodes;
  site.ranks = 8 * nodes;
  site.nics = 8;
  site.nic_rate = 400_Gbps;
  site.cpu = cpu;
  return site;
}

const NcclEstimate& of(const std::vector<NcclEstimate>& estimates, NcclAlgorithm algorithm, NcclProtocol protocol) {
  return *std::find_if(estimates.begin(), estimates.end(), [&](const NcclEstimate& estimate) {
    return estimate.algorithm == algorithm && estimate.protocol == protocol;
  });
}

double bus_gbps(const CollectiveSite& site, NcclAlgorithm algorithm, double size) {
  const LinkFacts facts = shipped_collective_models().facts;
  const auto estimates = nccl_estimates(site, CollectiveOp::kAllReduce, from_si<Bytes>(size), facts);
  const NcclEstimate& estimate = of(estimates, algorithm, NcclProtocol::kSimple);
  return bus_bandwidth(CollectiveOp::kAllReduce, site.ranks, from_si<Bytes>(size), estimate.time).si() / 1e9;
}

// 25 us + S/algbw, bus = 8 heads x 40 GB/s x 0.85 x 7/8 x 2 = 476 GB/s on H100, 8 x 80 x 0.74 x 7/8 x 2 = 829 on B300.
TEST(NcclTuning, NvlsOfEightGpusIsAsNcclPredicts) {
  const CollectiveSite h100 = node_of(GpuGeneration::kHopper);
  for (const auto& [size, bus] :
       {std::pair(0x1p20, 64.0), {0x1p24, 339.0}, {0x1p27, 453.0}, {0x1p30, 473.0}, {0x1p34, 476.0}}) {
    EXPECT_NEAR(bus_gbps(h100, NcclAlgorithm::kNvls, size), bus, 0.5) << size;
  }
  const CollectiveSite b300 = node_of(GpuGeneration::kBlackwell);
  for (const auto& [size, bus] :
       {std::pair(0x1p20, 67.0), {0x1p23, 344.0}, {0x1p27, 762.0}, {0x1p30, 820.0}, {0x1p33, 828.0}}) {
    EXPECT_NEAR(bus_gbps(b300, NcclAlgorithm::kNvls, size), bus, 1.0) << size;
  }
}

// A100: 240 GB/s and 8.4 + 14 x 3.4 = 56 us; H100's ring carries 6 x 60 = 360 GB/s.
TEST(NcclTuning, SimpleRingsOfEightGpusAreAsNcclPredicts) {
  const CollectiveSite a100 = node_of(GpuGeneration::kAmpere);
  for (const auto& [size, bus] : {std::pair(0x1p20, 29.0), {0x1p24, 165.0}, {0x1p27, 227.0}, {0x1p33, 240.0}}) {
    EXPECT_NEAR(bus_gbps(a100, NcclAlgorithm::kRing, size), bus, 0.7) << size;
  }
  EXPECT_NEAR(bus_gbps(node_of(GpuGeneration::kHopper), NcclAlgorithm::kRing, 0x1p36), 360.0, 1.0);
}

// Ring, Simple: 1.4 [8.4 + (2(n-1) - x) max(3.4, 3 or 6) + 14 x], x = 2(N-1).
TEST(NcclTuning, RingLatencyGrowsWithTheRanksAndTreeLatencyWithTheirLogarithm) {
  const LinkFacts facts = shipped_collective_models().facts;
  struct Row {
    int nodes;
    double intel_ms;
    double amd_ms;
    double nvls_tree_ms;
  };
  for (const Row& row :
       {Row{4, 0.40, 0.60, 0.11}, {32, 3.4, 5.0, 0.23}, {128, 13.5, 20.0, 0.32}, {1024, 108.0, 161.0, 0.44}}) {
    const auto latency = [&](CpuVendor cpu, NcclAlgorithm algorithm) {
      const auto estimates =
          nccl_estimates(nodes_of_h100(row.nodes, cpu), CollectiveOp::kAllReduce, from_si<Bytes>(0x1p34), facts);
      return of(estimates, algorithm, NcclProtocol::kSimple).latency.si() * 1e3;
    };
    EXPECT_NEAR(latency(CpuVendor::kIntel, NcclAlgorithm::kRing), row.intel_ms, 0.02 * row.intel_ms);
    EXPECT_NEAR(latency(CpuVendor::kAmd, NcclAlgorithm::kRing), row.amd_ms, 0.02 * row.amd_ms);
    EXPECT_NEAR(latency(CpuVendor::kIntel, NcclAlgorithm::kNvlsTree), row.nvls_tree_ms, 0.03 * row.nvls_tree_ms);
  }
}

TEST(NcclTuning, ChoosesLatencyForSmallAndBandwidthForLarge) {
  const LinkFacts facts = shipped_collective_models().facts;
  const CollectiveSite h100 = node_of(GpuGeneration::kHopper);
  const auto chosen = [&](const CollectiveSite& site, double size) {
    const auto estimates = nccl_estimates(site, CollectiveOp::kAllReduce, from_si<Bytes>(size), facts);
    return estimates.at(*nccl_choice(site, from_si<Bytes>(size), estimates));
  };
  EXPECT_EQ(chosen(h100, 1024.0).protocol, NcclProtocol::kLl);
  EXPECT_EQ(chosen(h100, 0x1p30).algorithm, NcclAlgorithm::kNvls);
  EXPECT_EQ(chosen(node_of(GpuGeneration::kAmpere), 0x1p30).algorithm, NcclAlgorithm::kRing);
  EXPECT_LT(chosen(h100, 1024.0).channels, chosen(h100, 0x1p30).channels);
  CollectiveSite racks = node_of(GpuGeneration::kBlackwell);
  racks.gpus_per_node = 72;
  racks.nodes = 20;
  racks.ranks = 20 * 72;
  racks.nvl_domain = true;
  racks.nics = 72;
  racks.nic_rate = 400_Gbps;
  EXPECT_EQ(chosen(racks, 0x1p30).algorithm, NcclAlgorithm::kRing);
  EXPECT_NE(chosen(racks, 1024.0).algorithm, NcclAlgorithm::kRing);
  // Over 1,024 nodes a ring's latency is hopeless at any size below gigabytes.
  EXPECT_NE(chosen(nodes_of_h100(1024), 0x1p20).algorithm, NcclAlgorithm::kRing);
}

TEST(CollectiveChoice, EveryOperationHasAPriceAndAChoice) {
  const CollectiveModels models = shipped_collective_models();
  for (int op = 0; op < kCollectiveOps; ++op) {
    for (const int nodes : {1, 2, 3, 64}) {
      const CollectivePrices prices =
          price_collective(nodes_of_h100(nodes), static_cast<CollectiveOp>(op), 64_MiB, models);
      ASSERT_FALSE(prices.options.empty());
      ASSERT_LT(prices.nccl_choice, prices.options.size());
      for (const PricedCollective& option : prices.options) {
        EXPECT_GT(option.time.si(), 0.0);
        EXPECT_LT(option.low, option.time);
        EXPECT_GT(option.high, option.time);
        EXPECT_GE(option.time, prices.options.at(prices.fastest).time);
      }
    }
  }
}

// Published: on 8 B300, ring beats the default NVLS at 16 MiB by 21 % (eunomia-bpf/nccl-eBPF).
TEST(CollectiveChoice, SaysThatRingBeatsTheDefaultOnB300InMidSizes) {
  const CollectiveModels models = shipped_collective_models();
  const CollectivePrices prices =
      price_collective(node_of(GpuGeneration::kBlackwell), CollectiveOp::kAllReduce, 16_MiB, models);
  EXPECT_EQ(prices.chosen().algorithm, NcclAlgorithm::kNvls);
  const PricedCollective& fastest = prices.options.at(prices.fastest);
  EXPECT_EQ(fastest.algorithm, NcclAlgorithm::kRing);
  EXPECT_GT(prices.chosen().time / fastest.time, 1.05);
}

}  // namespace
}  // namespace trainyard::simulator
