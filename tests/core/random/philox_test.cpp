#include "core/random/philox.h"

#include <gtest/gtest.h>

#include <set>

namespace trainyard {
namespace {

// Random123's known answers for philox4x32, ten rounds (kat_vectors).
TEST(Philox, GivesTheKnownAnswersOfItsAuthors) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  // Digits of pi.
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomBits, AreTheHalvesOfABlock) {
  EXPECT_EQ(random_bits(0, 0, 0), 0xe169c58d6627e8d5ULL);
  EXPECT_EQ(random_bits(0, 0, 1), 0x9b00dbd8bc57ac4cULL);
}

TEST(RandomBits, DifferBySeedStreamAndIndex) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed : {0ULL, 1ULL, 1ULL << 32}) {
    for (std::uint64_t stream : {0ULL, 1ULL, 1ULL << 32}) {
      for (std::uint64_t index : {0ULL, 1ULL, 2ULL, 1ULL << 33}) {
        seen.insert(random_bits(seed, stream, index));
      }
    }
  }
  EXPECT_EQ(seen.size(), 3U * 3U * 4U);
}

// Mean of n uniform numbers: 1/2 with deviation 1 / sqrt(12 n); five of them at n = 1e5 are 0.0046.
TEST(RandomUniform, FillsTheUnitIntervalEvenly) {
  double sum = 0.0;
  for (std::uint64_t i = 0; i < 100000; ++i) {
    const double u = random_uniform(7, 1, i);
    ASSERT_TRUE(u >= 0.0 && u < 1.0);
    sum += u;
  }
  EXPECT_NEAR(sum / 100000, 0.5, 0.0046);
}

// 7 cells of 1e4 draws hold 1429 each, deviation 35; five are 175.
TEST(RandomBelow, MeetsEachNumberEquallyOften) {
  std::array<int, 7> count{};
  for (std::uint64_t i = 0; i < 10000; ++i) {
    ++count.at(random_below(7, 2, i, 7));
  }
  for (const int n : count) {
    EXPECT_NEAR(n, 1429, 175);
  }
}

// The high half of the product of two 64-bit numbers, against the compiler's 128-bit one.
TEST(RandomBelow, IsTheHighHalfOfTheProduct) {
  __extension__ using Wide = unsigned __int128;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t limit = random_bits(1, 1, i) >> (i % 60);
    if (limit != 0) {
      EXPECT_EQ(random_below(9, 9, i, limit), static_cast<std::uint64_t>(Wide{random_bits(9, 9, i)} * limit >> 64));
    }
  }
}

// XXH3_64bits of no bytes, from xxHash's own test values.
TEST(StreamKey, IsXxh3AndStable) {
  EXPECT_EQ(stream_key(""), 0x2D06800538D394C2ULL);
  EXPECT_NE(stream_key("model.layers.0.mlp.up_proj.weight"), stream_key("model.layers.1.mlp.up_proj.weight"));
}

}  // namespace
}  // namespace trainyard
