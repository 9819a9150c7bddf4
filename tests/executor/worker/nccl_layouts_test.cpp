// Whole steps over NCCL's communicator, on the CPU device and a fake NCCL: what a plan's program posts to it must pair
// up, end, and train as over Gloo. The fake says which of NCCL's rules a program breaks.
#include <gtest/gtest.h>

#include "tests/executor/worker/layout_cases.h"
#include "tests/executor/worker/thread_ranks.h"

namespace trainyard::executor {

namespace {

constexpr std::int64_t kSteps = 3;

std::vector<Layout> layouts_of_several_ranks() {
  std::vector<Layout> layouts;
  for (const Layout& layout : all_layouts()) {
    if (layout.ranks() > 1) {
      layouts.push_back(layout);
    }
  }
  return layouts;
}

class EveryLayoutOverNccl : public testing::TestWithParam<Layout> {};

}  // namespace

TEST_P(EveryLayoutOverNccl, TrainsAsOverGlooAndCountsTheSame) {
  const Plan plan = small_plan(GetParam(), OptimizerKind::kSgd);
  const std::vector<RankResult> gloo = run_as_threads(plan, kSteps);
  const std::vector<RankResult> nccl = run_as_threads(plan, kSteps, {.nccl = true});
  for (std::size_t rank = 0; rank < gloo.size(); ++rank) {
    for (std::size_t step = 0; step < gloo[rank].losses.size(); ++step) {
      EXPECT_NEAR(nccl[rank].losses[step], gloo[rank].losses[step], 1e-5) << "step " << step;
      EXPECT_EQ(nccl[rank].counted[step], gloo[rank].counted[step]) << "rank " << rank;
    }
    EXPECT_NEAR(nccl[rank].evaluation, gloo[rank].evaluation, 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Parity, EveryLayoutOverNccl, testing::ValuesIn(layouts_of_several_ranks()),
                         [](const testing::TestParamInfo<Layout>& layout) { return test_name(layout.param); });

}  // namespace trainyard::executor
