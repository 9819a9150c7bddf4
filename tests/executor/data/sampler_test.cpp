#include "executor/data/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "executor/data/permutation.h"

namespace trainyard::executor {

namespace {

Plan plan_of(int data, std::int64_t micro_batch, std::int64_t accumulation) {
  Plan plan;
  plan.layout.data = data;
  plan.layout.micro_batch = micro_batch;
  plan.layout.accumulation = accumulation;
  plan.training.sequence = 4;
  plan.training.global_batch = plan.layout.sequences_per_step();
  plan.training.seed = 9;
  return plan;
}

// Byte i is i mod 251: a window is known by its first byte.
std::vector<std::uint8_t> numbered_text(std::size_t bytes) {
  std::vector<std::uint8_t> text(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    text[i] = static_cast<std::uint8_t>(i % 251);
  }
  return text;
}

std::vector<std::int32_t> first_tokens(const StepTokens& tokens) {
  std::vector<std::int32_t> firsts;
  for (std::size_t i = 0; i < tokens.inputs.size(); i += 4) {
    firsts.push_back(tokens.inputs[i]);
  }
  return firsts;
}

std::multiset<std::int32_t> step_samples(const Plan& plan, std::int64_t step) {
  const std::vector<std::uint8_t> text = numbered_text(241);
  std::multiset<std::int32_t> samples;
  for (int data = 0; data < plan.layout.data; ++data) {
    const auto firsts = first_tokens(training_tokens(text, plan, step, data));
    samples.insert(firsts.begin(), firsts.end());
  }
  return samples;
}

}  // namespace

TEST(Permutation, VisitsEveryPlaceOnce) {
  for (const std::int64_t n : {1, 2, 3, 5, 16, 17, 100, 1000}) {
    const Permutation permutation(1, 0, n);
    std::set<std::int64_t> seen;
    for (std::int64_t i = 0; i < n; ++i) {
      seen.insert(permutation.at(i));
    }
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(n));
    EXPECT_EQ(*seen.begin(), 0);
    EXPECT_EQ(*seen.rbegin(), n - 1);
  }
}

// Two random permutations of 1000 agree at one place on average; 20 or more has a chance below 1e-17.
TEST(Permutation, ChangesWithSeedAndEpoch) {
  const Permutation one(1, 0, 1000);
  for (const Permutation& other : {Permutation(2, 0, 1000), Permutation(1, 1, 1000)}) {
    int equal = 0;
    for (std::int64_t i = 0; i < 1000; ++i) {
      equal += one.at(i) == other.at(i) ? 1 : 0;
    }
    EXPECT_LT(equal, 20);
  }
}

TEST(Sampler, TargetsAreTheInputsMovedOnByOne) {
  const std::vector<std::uint8_t> text = numbered_text(241);
  const StepTokens tokens = training_tokens(text, plan_of(1, 2, 2), 0, 0);
  ASSERT_EQ(tokens.inputs.size(), 16U);
  for (std::size_t i = 0; i < tokens.inputs.size(); ++i) {
    EXPECT_EQ(tokens.targets[i], tokens.inputs[i] + 1);
  }
}

TEST(Sampler, AStepHasTheSameSamplesUnderEveryLayout) {
  for (std::int64_t step = 0; step < 20; ++step) {
    const auto samples = step_samples(plan_of(1, 1, 8), step);
    EXPECT_EQ(step_samples(plan_of(2, 1, 4), step), samples);
    EXPECT_EQ(step_samples(plan_of(2, 2, 2), step), samples);
    EXPECT_EQ(step_samples(plan_of(8, 1, 1), step), samples);
  }
}

// (241 - 1) / 4 = 60 windows; 15 steps of 4.
TEST(Sampler, AnEpochShowsEveryWindowOnce) {
  std::multiset<std::int32_t> seen;
  for (std::int64_t step = 0; step < 15; ++step) {
    seen.merge(step_samples(plan_of(2, 2, 1), step));
  }
  EXPECT_EQ(seen.size(), 60U);
  EXPECT_EQ(std::set<std::int32_t>(seen.begin(), seen.end()).size(), 60U);
}

TEST(Sampler, EvaluationGoesThroughTheWindowsInOrderAndRoundAgain) {
  const std::vector<std::uint8_t> text = numbered_text(13);  // three windows
  const StepTokens tokens = evaluation_tokens(text, plan_of(1, 4, 1), 0, 0);
  EXPECT_EQ(first_tokens(tokens), (std::vector<std::int32_t>{0, 4, 8, 0}));
}

}  // namespace trainyard::executor
