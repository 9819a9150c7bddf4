// Predicted memory against the published throughput measurements beside the repository, where they are.
#include <gtest/gtest.h>

#include <cstdio>

#include "core/document/read_file.h"
#include "simulator/throughput/published_memory.h"
#include "simulator/throughput/published_throughput.h"
#include "tests/support/reference_file.h"

namespace trainyard::simulator {
namespace {

class PublishedMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto file = reference_file("published/throughput.json");
    if (!file) {
      GTEST_SKIP() << "no published/throughput.json in ../shared/reference; TRAINYARD_REFERENCE names its folder";
    }
    scores_ = score_memory(
        make_cases(parse_published_throughput(read_text_file(*file), file->string()), shipped_throughput_exclusions()));
    summary_ = summarise_memory(scores_);
  }

  std::vector<MemoryScore> scores_;
  MemorySummary summary_;
};

TEST_F(PublishedMemoryTest, PeaksAreWithinSevenPerCent) {
  std::printf("%d rows: mean error %.1f %%, bias %+.1f %%, max %.1f %%\n", summary_.rows, 100 * summary_.mean,
              100 * summary_.bias, 100 * summary_.max);
  EXPECT_GE(summary_.rows, 70);
  EXPECT_LE(summary_.mean, 0.07);
}

// Every published layout ran. Of what the GPU has, as the runtime reports it.
TEST_F(PublishedMemoryTest, LayoutsThatRanFit) {
  for (const MemoryScore& score : scores_) {
    if (score.refused()) {
      std::printf("refused: %s needs %.1f GiB of %.1f (%s)\n", score.id.c_str(),
                  static_cast<double>(score.least.value()) / 0x1p30,
                  static_cast<double>(score.capacity.value()) / 0x1p30, score.layout.c_str());
    }
  }
  std::printf("%d of %d layouts that ran are refused\n", summary_.refused, summary_.ran);
  EXPECT_LE(summary_.refused, summary_.ran / 100);
}

}  // namespace
}  // namespace trainyard::simulator
