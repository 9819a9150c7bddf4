#include "core/program/norm_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace trainyard {
namespace {

using Words = std::array<std::int64_t, kSumWords>;
using Reference = __float128;  // 113 bits

Words sum_of(std::span<const double> terms) {
  Words words{};
  for (const double term : terms) {
    add_term(words, term);
  }
  return words;
}

double value_of(std::initializer_list<double> terms) {
  const std::vector<double> list(terms);
  return value(sum_of(list));
}

// Terms of any magnitude between 2^low and 2^high.
std::vector<double> random_terms(std::mt19937_64& random, int count, int low, int high) {
  std::uniform_real_distribution<double> mantissa(1.0, 2.0);
  std::uniform_int_distribution<int> exponent(low, high - 1);
  std::vector<double> terms;
  for (int i = 0; i < count; ++i) {
    terms.push_back(std::ldexp(mantissa(random), exponent(random)));
  }
  return terms;
}

TEST(NormSum, NothingAddedIsZero) {
  EXPECT_EQ(value(Words{}), 0.0);
  EXPECT_EQ(value_of({0.0, -0.0}), 0.0);
}

TEST(NormSum, OneTermComesBackAsItWas) {
  std::mt19937_64 random(2);
  for (const double term : random_terms(random, 20000, -98, 138)) {  // 53 bits above 2^-150
    ASSERT_EQ(value_of({term}), term);
  }
}

TEST(NormSum, OrderDoesNotChangeAWord) {
  std::mt19937_64 random(3);
  std::vector<double> terms = random_terms(random, 2000, -150, 120);
  const Words words = sum_of(terms);
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::shuffle(terms.begin(), terms.end(), random);
    ASSERT_EQ(sum_of(terms), words);
  }
}

TEST(NormSum, AddedOverRanksTheValueIsTheSameToTheBit) {
  // Words of different ranks are added by an integer all-reduce.
  std::mt19937_64 random(4);
  const std::vector<double> terms = random_terms(random, 3000, -150, 120);
  const double whole = value(sum_of(terms));
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::vector<Words> ranks(1 + random() % 17);
    for (const double term : terms) {
      add_term(ranks[random() % ranks.size()], term);
    }
    Words sum{};
    for (const Words& words : ranks) {
      for (std::size_t i = 0; i < words.size(); ++i) {
        sum[i] += words[i];
      }
    }
    ASSERT_EQ(value(sum), whole);
  }
}

TEST(NormSum, TheSumIsExactUntilItIsRoundedOnce) {
  // 53 bits, exponents over 40, 1000 terms: at most 53 + 40 + 10 = 103 bits, which the reference holds exactly.
  std::mt19937_64 random(5);
  for (const int low : {-90, -20, 60}) {
    for (int repeat = 0; repeat < 50; ++repeat) {
      const std::vector<double> terms = random_terms(random, 1000, low, low + 40);
      Reference reference = 0;
      for (const double term : terms) {
        reference += term;
      }
      ASSERT_EQ(value(sum_of(terms)), static_cast<double>(reference));
    }
  }
}

TEST(NormSum, TheValueIsRoundedToNearestTiesToEven) {
  const double one = std::ldexp(1.0, 100);
  const double ulp = std::ldexp(1.0, 100 - 52);
  const double least = std::ldexp(1.0, -150);
  EXPECT_EQ(value_of({one, ulp / 2}), one);                  // tie, even below
  EXPECT_EQ(value_of({one, ulp / 2, least}), one + ulp);     // one bit 250 places further tips it
  EXPECT_EQ(value_of({one, ulp, ulp / 2}), one + 2 * ulp);   // tie, even above
  EXPECT_EQ(value_of({one, ulp / 4, ulp / 8, least}), one);  // below half
  const std::vector<double> halves(8, ulp / 2);              // lost one by one, not together
  Words words = sum_of(halves);
  add_term(words, one);
  EXPECT_EQ(value(words), one + 4 * ulp);
}

TEST(NormSum, SmallTermsAreRoundedToTheLastBit) {
  const double least = std::ldexp(1.0, -150);
  EXPECT_EQ(value_of({least}), least);
  EXPECT_EQ(value_of({least * 0.5}), 0.0);  // tie to even
  EXPECT_EQ(value_of({least * 0.75}), least);
  EXPECT_EQ(value_of({least * 1.5}), 2 * least);  // tie to even
  EXPECT_EQ(value_of({least * 2.5}), 2 * least);
  EXPECT_EQ(value_of({least * 0x1.0000000000001p-1}), least);  // just above half
  EXPECT_EQ(value_of({std::ldexp(1.0, -200)}), 0.0);
  EXPECT_EQ(value_of({std::numeric_limits<double>::denorm_min()}), 0.0);
}

TEST(NormSum, TermsOutsideTheRangeOrNotFiniteMakeTheValueNaN) {
  const double limit = std::ldexp(1.0, 138);
  EXPECT_EQ(value_of({std::nextafter(limit, 0)}), std::nextafter(limit, 0));
  EXPECT_TRUE(std::isnan(value_of({limit})));
  EXPECT_TRUE(std::isnan(value_of({1.0, std::numeric_limits<double>::infinity(), 2.0})));
  EXPECT_TRUE(std::isnan(value_of({-std::numeric_limits<double>::infinity()})));
  EXPECT_TRUE(std::isnan(value_of({std::numeric_limits<double>::quiet_NaN(), 1.0})));
}

TEST(NormSum, ASumMayGrowBeyondTheLargestTerm) {
  // 1000 terms of 2^138 - 2^85: the top limb holds what doesn't fit in 288 bits.
  const double largest = std::nextafter(std::ldexp(1.0, 138), 0);
  const std::vector<double> terms(1000, largest);
  EXPECT_EQ(value(sum_of(terms)), static_cast<double>(1000 * static_cast<Reference>(largest)));
}

TEST(NormSum, LimbsCarryBillionsOfTerms) {
  // Doubling the words is adding every term again: 2^30 times the same full limbs.
  Words words{};
  const double term = std::nextafter(2.0, 0);
  add_term(words, term);
  for (int doubling = 0; doubling < 30; ++doubling) {
    for (std::int64_t& word : words) {
      word += word;
    }
  }
  EXPECT_EQ(value(words), std::ldexp(term, 30));
}

TEST(NormSum, ANegativeTermIsABug) {
  Words words{};
  EXPECT_DEATH(add_term(words, -1.0), "not negative");
}

TEST(NormSum, ABlocksSquaresAreAddedInTheDocumentedOrder) {
  std::mt19937_64 random(6);
  std::normal_distribution<float> normal;
  for (const std::size_t size : {0U, 1U, 15U, 16U, 17U, 100U, 1023U, 1024U}) {
    std::vector<float> block(size);
    for (float& x : block) {
      x = normal(random);
    }
    std::array<double, 16> lanes{};
    for (std::size_t i = 0; i < size; ++i) {
      lanes[i % 16] += static_cast<double>(block[i]) * static_cast<double>(block[i]);
    }
    const auto pair = [&](std::size_t i, std::size_t n) { return lanes[i] + lanes[i + n]; };
    std::array<double, 8> eight{};
    for (std::size_t i = 0; i < 8; ++i) {
      eight[i] = pair(i, 8);
    }
    const double expected =
        ((eight[0] + eight[4]) + (eight[2] + eight[6])) + ((eight[1] + eight[5]) + (eight[3] + eight[7]));
    EXPECT_EQ(sum_of_squares(block), expected) << size;
  }
}

TEST(NormSum, ABlocksSumIsCloseToTheExactOne) {
  std::mt19937_64 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> block(kNormBlock);
  Reference exact = 0;
  for (float& x : block) {
    x = normal(random);
    exact += static_cast<Reference>(x) * static_cast<Reference>(x);
  }
  // 64 additions a lane and 4 levels: at most 68 roundings of 2^-53 each.
  EXPECT_NEAR(sum_of_squares(block) / static_cast<double>(exact), 1.0, 68 * 0x1p-53);
}

TEST(NormSum, AnInfiniteOrUndefinedGradientShows) {
  std::vector<float> block(100, 1.0F);
  block[37] = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isnan(value_of({sum_of_squares(block)})));
  block[37] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(value_of({sum_of_squares(block)})));
}

}  // namespace
}  // namespace trainyard
