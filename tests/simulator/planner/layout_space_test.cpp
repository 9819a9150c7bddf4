#include "simulator/planner/layout_space.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/plan/plan.h"
#include "core/plan/shipped.h"

namespace trainyard::simulator {
namespace {

struct Case {
  const char* model;
  std::int64_t ranks;
  std::int64_t sequence;
  std::int64_t batch;
};

// A plan refuses a layout whose parts contradict each other: degrees, schedule, chunks, experts, sharing. The search
// proposes no such layout, of any kind of model.
class LayoutSpaceOf : public testing::TestWithParam<Case> {};

TEST_P(LayoutSpaceOf, HoldsOnlyLayoutsThatAPlanTakes) {
  LayoutSpace space;
  space.workload = {open_model(GetParam().model), GetParam().sequence, GetParam().batch};
  space.ranks = GetParam().ranks;
  space.limits.vary_overlap = false;
  space.limits.selective = true;
  Plan plan;
  plan.model = space.workload.model;
  plan.training = {.sequence = GetParam().sequence, .global_batch = GetParam().batch, .steps = 1};
  std::int64_t layouts = 0;
  for (const LayoutBlock& block : layout_blocks(space).blocks) {
    for (const LayoutVariant& variant : block_variants(space, block)) {
      for_each_layout(space, block, variant, [&](const Layout& layout, std::int64_t) {
        plan.layout = layout;
        ++layouts;
        try {
          validate(plan, "plan");
        } catch (const Error& error) {
          ADD_FAILURE() << describe(layout) << ": " << error.where() << " " << error.problem();
        }
      });
    }
  }
  EXPECT_GT(layouts, 500);
}

INSTANTIATE_TEST_SUITE_P(Models, LayoutSpaceOf,
                         testing::Values(Case{"llama-3-8b", 16, 8192, 32}, Case{"gpt2-xl", 8, 1024, 64},
                                         Case{"qwen3-30b-a3b", 8, 4096, 16}, Case{"deepseek-v2-lite", 12, 4096, 24},
                                         Case{"falcon-7b", 24, 2048, 96}, Case{"gpt-oss-20b", 8, 4096, 16}),
                         [](const testing::TestParamInfo<Case>& one) { return std::to_string(one.index); });

}  // namespace
}  // namespace trainyard::simulator
