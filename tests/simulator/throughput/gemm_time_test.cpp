#include "simulator/throughput/gemm_time.h"

#include <gtest/gtest.h>

namespace trainyard::simulator {
namespace {

GemmRate rate() { return {200_TFLOPS, 60.0, 0.3, 10_us, from_si<BytesPerSecond>(2e12), 2.0}; }

TEST(GemmTime, LargeProductIsFlopsOverReachedRateTimesDepthLoss) {
  // 2 x 4096^3 = 137.4 GFLOP at 200 TFLOP/s: 687.2 us; x (1 + 60/4096) = 697.3; + 10.
  EXPECT_NEAR(gemm_time({4096, 4096, 4096}, rate()).si() * 1e6, 707.3, 0.1);
}

TEST(GemmTime, MisalignedDimensionsPayTheStatedShare) {
  // n = 1800 isn't a multiple of 64: the factor grows by 0.3.
  const double aligned = (gemm_time({4096, 1792, 4096}, rate()) - 10_us).si() / 1792;
  const double misaligned = (gemm_time({4096, 1800, 4096}, rate()) - 10_us).si() / 1800;
  EXPECT_NEAR(misaligned / aligned, (1.3 + 60.0 / 4096) / (1.0 + 60.0 / 4096), 1e-9);
}

TEST(GemmTime, ProductOfOneRowIsBoundByMemory) {
  // A row times 8192 x 8192 in 2 bytes: 134 MB at 2 TB/s is 67 us; its FLOPs take under a microsecond.
  EXPECT_NEAR(gemm_time({1, 8192, 8192}, rate()).si() * 1e6, 67.1 + 10.0, 0.2);
}

TEST(GemmTime, GroupedProductsShareOneLaunchAndLoseTilesOfFewRows) {
  // 8 groups of 64 rows: half a tile of 128 is lost to each, so that the FLOPs take twice as long (+ depth loss).
  const GemmShape one{64, 4096, 4096};
  const double flops_us = one.flops().si() / 200e12 * 1e6;
  EXPECT_NEAR(grouped_gemm_time(one, 8, rate()).si() * 1e6, 8 * flops_us * (2.0 + 60.0 / 4096) + 10.0, 0.1);
}

}  // namespace
}  // namespace trainyard::simulator
