#include "core/layout/layout_text.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/plan/shipped.h"
#include "simulator/planner/layout_space.h"
#include "tests/support/error_of.h"

namespace trainyard {
namespace {

// What describe() writes of any layout that the search proposes is read back as that layout.
TEST(LayoutText, IsReadBackAsTheLayoutItDescribes) {
  simulator::LayoutSpace space;
  space.workload = {open_model("qwen3-30b-a3b"), 4096, 16};
  space.ranks = 16;
  space.limits.vary_overlap = true;
  space.limits.offload = true;
  space.limits.selective = true;
  std::int64_t layouts = 0;
  constexpr int kOneIn = 499;  // of some millions
  for (const simulator::LayoutBlock& block : simulator::layout_blocks(space).blocks) {
    for (const simulator::LayoutVariant& variant : simulator::block_variants(space, block)) {
      simulator::for_each_layout(space, block, variant, [&](const Layout& layout, std::int64_t ordinal) {
        if (ordinal % kOneIn == 0) {
          ++layouts;
          EXPECT_EQ(parse_layout(describe(layout), "--explain", space.base, space.ranks, space.workload.global_batch),
                    layout)
              << describe(layout);
        }
      });
    }
  }
  EXPECT_GT(layouts, 1000);
}

TEST(LayoutText, KnowsEveryWordThatALayoutCanHave) {
  Layout layout;
  layout.tensor = 2;
  layout.pipeline = 2;
  layout.data = 6;
  layout.zero_stage = 3;
  layout.shard_group = 3;
  layout.chunk_layers = {3, 5};
  layout.micro_batch = 2;
  layout.accumulation = 4;
  layout.recompute = Recompute::kFull;
  layout.recompute_every = 4;
  layout.offload = {.optimizer = true, .activations = true, .parameters = true};
  layout.bucket_bytes = ByteCount(1000001);
  layout.overlap_gradient_reduce = false;
  layout.strict_reduction = true;
  layout.rank_order = "tp-cp-dp-ep-pp";
  layout.compute_type = DataType::kMxFp8;
  layout.parameter_type = DataType::kBf16;
  layout.gradient_type = DataType::kBf16;
  layout.optimizer_type = DataType::kBf16;
  layout.communication_type = DataType::kFp8;
  EXPECT_EQ(parse_layout(describe(layout), "--explain", Layout{}, layout.ranks(), 48), layout) << describe(layout);
}

TEST(LayoutText, NamesTheWordItDoesNotKnow) {
  const Error error = error_of([] { parse_layout("tp2 zzz mbs1", "--explain", Layout{}, 2, 4); });
  EXPECT_TRUE(contains(error.problem() + error.where() + error.hint(), "zzz"));
}

TEST(LayoutText, ADegreeOfZeroIsRefused) {
  for (const char* word : {"v0", "ga0", "mbs0", "ep0", "every0", "shard0", "tp0"}) {
    const Error error = error_of([&] { parse_layout(word, "--explain", Layout{}, 1, 1); });
    EXPECT_TRUE(contains(error.problem(), word)) << error.what();
  }
  EXPECT_EQ(parse_layout("zero0", "--explain", Layout{}, 1, 1).zero_stage, 0);
}

}  // namespace
}  // namespace trainyard
