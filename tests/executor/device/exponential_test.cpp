#include "executor/kernel/exponential.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace trainyard::executor {
namespace {

TEST(Exponential, IsWithinTwoUnitsInTheLastPlace) {
  double worst = 0.0;
  // A step that is no multiple of anything: two million points over the range.
  for (float x = kExponentialLowest; x <= kExponentialHighest; x += 8.7e-5f) {
    const double exact = std::exp(static_cast<double>(x));
    const auto nearest = static_cast<float>(exact);
    const double unit = std::nextafter(nearest, std::numeric_limits<float>::infinity()) - nearest;
    worst = std::max(worst, std::abs(exponential(x) - exact) / unit);
  }
  EXPECT_LE(worst, 2.0);
  RecordProperty("worst_ulp", std::to_string(worst));
}

TEST(Exponential, HandlesWhatLiesOutside) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(exponential(0.0f), 1.0f);
  EXPECT_EQ(exponential(-kInfinity), 0.0f);
  EXPECT_EQ(exponential(-100.0f), 0.0f);
  EXPECT_EQ(exponential(100.0f), kInfinity);
  EXPECT_EQ(exponential(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(exponential(std::nanf(""))));
}

TEST(Sigmoid, SaturatesWithoutOverflow) {
  EXPECT_EQ(sigmoid(0.0f), 0.5f);
  EXPECT_EQ(sigmoid(-200.0f), 0.0f);
  EXPECT_EQ(sigmoid(200.0f), 1.0f);
  EXPECT_NEAR(sigmoid(1.5f), 1.0 / (1.0 + std::exp(-1.5)), 1e-7);
}

}  // namespace
}  // namespace trainyard::executor
