#include "core/random/normal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "core/random/philox.h"

namespace trainyard {
namespace {

std::vector<float> range(std::uint64_t begin, std::size_t count) {
  std::vector<float> values(count);
  fill_normal(values, 42, 7, begin);
  return values;
}

TEST(Normal, DependsOnTheGlobalIndexAndNotOnTheCut) {
  const std::vector<float> whole = range(0, 1000);
  for (const std::size_t begin : {1U, 3U, 4U, 63U, 64U, 65U, 500U}) {
    for (const std::size_t count : {1U, 2U, 5U, 64U, 130U}) {
      const std::vector<float> part = range(begin, count);
      EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(begin)));
    }
  }
  EXPECT_EQ(random_normal(42, 7, 777), whole[777]);
}

TEST(Normal, IsBoxMullerOfTheBlockToFloatPrecision) {
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const PhiloxBlock block = philox_block(42, 7, i / 4);
    const std::size_t pair = i % 4 / 2 * 2;
    const double radius = std::sqrt(-2.0 * std::log((block[pair] + 0.5) * 0x1p-32));
    const double angle = 2.0 * std::numbers::pi * block[pair + 1] * 0x1p-32;
    const double expected = radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle));
    ASSERT_NEAR(random_normal(42, 7, i), expected, 3e-7 * std::max(1.0, std::abs(expected))) << i;
  }
}

// Of n = 1e6: mean 0 within 5/sqrt(n), variance 1 within 5 sqrt(2/n), fourth moment 3 within 5 sqrt(96/n).
TEST(Normal, HasTheMomentsOfAStandardNormal) {
  const std::vector<float> values = range(0, 1000000);
  double sum = 0.0;
  double squares = 0.0;
  double fourths = 0.0;
  for (const double x : values) {
    sum += x;
    squares += x * x;
    fourths += x * x * x * x;
  }
  EXPECT_NEAR(sum / 1e6, 0.0, 0.005);
  EXPECT_NEAR(squares / 1e6, 1.0, 0.0071);
  EXPECT_NEAR(fourths / 1e6, 3.0, 0.049);
}

TEST(Normal, ScalesWithTheDeviation) {
  std::vector<float> scaled(100);
  fill_normal(scaled, 42, 7, 0, 0.5F);
  const std::vector<float> standard = range(0, 100);
  for (std::size_t i = 0; i < scaled.size(); ++i) {
    EXPECT_EQ(scaled[i], 0.5F * standard[i]);
  }
}

// The first four values as first computed: if they change, old runs can't be repeated.
TEST(Normal, KeepsItsValues) {
  EXPECT_EQ(range(0, 4), (std::vector<float>{0x1.10adbap+0F, -0x1.a2929ap-1F, -0x1.512068p-1F, 0x1.22037ep+0F}));
}

}  // namespace
}  // namespace trainyard
