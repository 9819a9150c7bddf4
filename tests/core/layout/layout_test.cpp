#include "core/layout/layout.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/layout/layout_text.h"

namespace trainyard {
namespace {

TEST(Layout, RanksAndSequencesAreTheProductsOfTheDegrees) {
  Layout layout;
  layout.tensor = 2;
  layout.context = 3;
  layout.data = 5;
  layout.pipeline = 7;
  layout.micro_batch = 4;
  layout.accumulation = 8;
  EXPECT_EQ(layout.ranks(), 2 * 3 * 5 * 7);
  EXPECT_EQ(layout.sequences_per_step(), 4 * 8 * 5);
}

TEST(Layout, ADescriptionLeavesOutDegreesOfOneAndDefaults) {
  Layout layout;
  layout.tensor = 2;
  layout.pipeline = 2;
  layout.zero_stage = 1;
  layout.micro_batch = 4;
  layout.accumulation = 8;
  EXPECT_EQ(describe(layout), "tp2 pp2 zero1 1f1b mbs4 ga8");
  EXPECT_EQ(describe(Layout{}), "dp1 mbs1 ga1");
}

TEST(Layout, ADescriptionNamesWhateverDiffersFromTheDefault) {
  Layout layout;
  layout.context = 2;
  layout.data = 4;
  layout.expert = 4;
  layout.expert_tensor = 2;
  layout.sequence_parallel = true;
  layout.schedule = ScheduleKind::kInterleaved;
  layout.chunks_per_stage = 3;
  layout.recompute = Recompute::kFull;
  layout.bucket_bytes = ByteCount(std::int64_t{40} << 20);
  layout.overlap_gradient_reduce = false;
  layout.strict_reduction = true;
  layout.rank_order = "tp-pp-dp-cp-ep";
  layout.compute_type = DataType::kBf16;
  EXPECT_EQ(describe(layout),
            "cp2 dp4 ep4 etp2 sp interleaved v3 mbs1 ga1 recompute-full bucket-40MiB no-overlap strict "
            "tp-pp-dp-cp-ep compute-bf16");
  layout.bucket_bytes = ByteCount(1000);
  EXPECT_NE(describe(layout).find("bucket-1000B"), std::string::npos);
}

// Runs of three and more are counted; the text reads back as the same layout.
TEST(Layout, EqualStagesAreCountedNotListed) {
  Layout layout;
  layout.pipeline = 9;
  layout.chunk_layers = {2, 3, 3, 2, 2, 2, 2, 4, 4};
  const std::string text = describe(layout);
  EXPECT_EQ(text, "pp9 1f1b layers-2,3,3,2x4,4,4 mbs1 ga1");
  EXPECT_EQ(parse_layout(text, "--layout", Layout{}, 9, 1).chunk_layers, layout.chunk_layers);
  EXPECT_THROW(parse_layout("pp9 layers-2x", "--layout", Layout{}, 9, 1), Error);
}

}  // namespace
}  // namespace trainyard
