#include "core/plan/stack_profile.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace trainyard {
namespace {

StackProfile profile() {
  StackProfile one;
  one.name = "here";
  one.date = "2026";
  one.software = "megatron";
  one.generation = "hopper";
  one.constants.fill(0.5);
  one.attention = AttentionKernel::kFlash3;
  one.early_stop = true;
  one.groups = {"a/b"};
  one.anchors = {"mine, 5.7 s"};
  one.provenance = "a test";
  return one;
}

TEST(StackProfileFile, RoundTrips) {
  const StackProfile read = parse_stack_profile(stack_profile_text(profile()), "here.json");
  EXPECT_EQ(stack_profile_text(read), stack_profile_text(profile()));
  EXPECT_EQ(read.attention, AttentionKernel::kFlash3);
  EXPECT_EQ(read.constants, profile().constants);
  EXPECT_TRUE(read.early_stop);
  EXPECT_EQ(read.anchors, profile().anchors);
}

TEST(StackProfileFile, ARateOfNothingIsRefused) {
  StackProfile none = profile();
  none.constants.at(static_cast<std::size_t>(StackConstant::kGemm)) = 0.0;
  EXPECT_THROW(parse_stack_profile(stack_profile_text(none), "here.json"), Error);
}

}  // namespace
}  // namespace trainyard
