#include "executor/data/byte_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/support/error_of.h"
#include "tests/support/temporary_folder.h"

namespace trainyard::executor {

TEST(ByteText, HoldsBackTheLastTenth) {
  const TemporaryFolder folder;
  const ByteText text(folder.write("text", std::string(900, 'a') + std::string(100, 'b')), 32);
  EXPECT_EQ(text.training().size(), 900U);
  EXPECT_EQ(text.held_back().size(), 100U);
  EXPECT_EQ(text.training().back(), 'a');
  EXPECT_EQ(text.held_back().front(), 'b');
}

// A tenth of 320 bytes is 32, one short of a window of 32 + 1.
TEST(ByteText, TooShortNamesTheFileAndTheLengthNeeded) {
  const TemporaryFolder folder;
  const auto file = folder.write("short.txt", std::string(320, 'a'));
  const Error error = error_of([&] { ByteText(file, 32); });
  EXPECT_EQ(error.where(), file.string());
  EXPECT_TRUE(contains(error.hint(), "330")) << error.hint();
  EXPECT_NO_THROW(ByteText(folder.write("long.txt", std::string(330, 'a')), 32));
}

TEST(ByteText, AbsentFilesAndFoldersAreErrors) {
  const TemporaryFolder folder;
  EXPECT_TRUE(contains(error_of([&] { ByteText(folder.path() / "absent", 8); }).problem(), "no such file"));
  EXPECT_TRUE(contains(error_of([&] { ByteText(folder.path(), 8); }).problem(), "not a regular file"));
}

// Two bytes at 1/4 and 3/4: -(1/4 ln 1/4 + 3/4 ln 3/4); 256 equally likely ones: ln 256.
TEST(UnigramEntropy, IsThatOfTheByteFrequencies) {
  const std::vector<std::uint8_t> two{'a', 'b', 'b', 'b'};
  EXPECT_NEAR(unigram_entropy(two), -(0.25 * std::log(0.25) + 0.75 * std::log(0.75)), 1e-15);
  std::vector<std::uint8_t> all(256);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = static_cast<std::uint8_t>(i);
  }
  EXPECT_NEAR(unigram_entropy(all), std::log(256.0), 1e-12);
  EXPECT_EQ(unigram_entropy(std::vector<std::uint8_t>(10, 'x')), 0.0);
}

}  // namespace trainyard::executor
