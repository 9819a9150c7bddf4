#include "simulator/throughput/attention_time.h"

#include <gtest/gtest.h>

namespace trainyard::simulator {
namespace {

AttentionShape shape() { return {1.0, 4096.0, 4096.0, 2048.0, 32.0, 128.0, 128.0}; }

TEST(AttentionTime, FlashIsCausalFlopsOverItsRateAndThreeTimesThatBackward) {
  // 2 x 4096 x 2048 x 32 x 256 = 137.4 GFLOP; at 100 TFLOP/s 1.374 ms. Backward: 2.5 times the work at 5/6 of the rate.
  const AttentionRate rate{AttentionKernel::kFlash2, 100_TFLOPS, 100_TFLOPS, from_si<BytesPerSecond>(1e12)};
  EXPECT_NEAR(attention_forward_time(shape(), rate).si() * 1e3, 1.374, 0.001);
  EXPECT_NEAR(attention_backward_time(shape(), rate) / attention_forward_time(shape(), rate), 3.0, 1e-12);
}

TEST(AttentionTime, UnfusedWorksOnTheWholeSquareAndMovesItThroughMemory) {
  // Scores 4096^2 x 32 = 537 M. Products 2 x 537 M x 256 = 274.9 GFLOP at 50 TFLOP/s: 5.50 ms; 13 B each at 1
  // TB/s: 6.98.
  const AttentionRate rate{AttentionKernel::kUnfused, 100_TFLOPS, 50_TFLOPS, from_si<BytesPerSecond>(1e12)};
  EXPECT_NEAR(attention_forward_time(shape(), rate).si() * 1e3, 5.50 + 6.98, 0.01);
}

TEST(AttentionTime, WindowKeepsItsOwnKeysButFewerAtTheStart) {
  // Of 1,000 tokens with a window of 100: the first 100 see 50 on average, the others 100: 95.
  EXPECT_DOUBLE_EQ(kept_keys(1000, 100), 95.0);
  EXPECT_DOUBLE_EQ(kept_keys(1000, 0), 500.0);
  EXPECT_DOUBLE_EQ(kept_keys(1000, 2000), 500.0);
}

}  // namespace
}  // namespace trainyard::simulator
