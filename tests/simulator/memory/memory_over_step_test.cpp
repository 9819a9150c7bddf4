#include "simulator/memory/memory_over_step.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "simulator/step/simulate_step.h"
#include "tests/core/program/tiny_plan.h"

namespace trainyard::simulator {
namespace {

Program pipeline_of_two() {
  Layout layout;
  layout.pipeline = 2;
  layout.micro_batch = 2;
  layout.accumulation = 4;
  return compile(testing::tiny_plan(layout));
}

const MemoryMoment& fullest(const std::vector<MemoryMoment>& moments) {
  return *std::max_element(moments.begin(), moments.end(),
                           [](const MemoryMoment& a, const MemoryMoment& b) { return a.total() < b.total(); });
}

// memory_profile() walks the instructions in order: {i, i + 1} is that order as a time.
TEST(MemoryOverStep, InIssueOrderPeaksAsTheProfileDoes) {
  const Program program = pipeline_of_two();
  for (const Role& role : program.roles) {
    const std::vector<MemoryMoment> moments = memory_over_step(role, times_of(role, Trace()));
    const MemoryProfile profile = memory_profile(role);
    EXPECT_EQ(fullest(moments).total(), profile.peak);
    EXPECT_TRUE(
        std::equal(profile.peak_by_cause.begin(), profile.peak_by_cause.end(), fullest(moments).by_cause.begin()));
  }
}

TEST(MemoryOverStep, BeginsAndEndsWithWhatLivesFromStepToStep) {
  const Program program = pipeline_of_two();
  const Role& role = program.roles.front();
  std::vector<Interval> times(role.instructions.size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    times[i] = {static_cast<Nanoseconds>(10 * i + 5), static_cast<Nanoseconds>(10 * i + 12)};  // overlapping
  }
  const std::vector<MemoryMoment> moments = memory_over_step(role, times);
  EXPECT_EQ(moments.front().at, 0);
  EXPECT_EQ(moments.back().at, times.back().end);
  EXPECT_EQ(moments.front().total(), role.persistent_bytes);
  EXPECT_EQ(moments.back().total(), role.persistent_bytes);
  EXPECT_TRUE(std::is_sorted(moments.begin(), moments.end(),
                             [](const MemoryMoment& a, const MemoryMoment& b) { return a.at < b.at; }));
}

}  // namespace
}  // namespace trainyard::simulator
