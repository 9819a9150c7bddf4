#include "simulator/memory/memory_estimate.h"

#include <gtest/gtest.h>

#include "tests/core/program/tiny_plan.h"
#include "tests/simulator/support/profiles.h"
#include "tests/support/error_of.h"

namespace trainyard::simulator {
namespace {

Program pipeline_of_two() {
  Layout layout;
  layout.pipeline = 2;
  layout.micro_batch = 2;
  layout.accumulation = 4;
  return compile(testing::tiny_plan(layout));
}

TEST(MemoryEstimate, IsArenaAndPersistentBytesAndTheProcess) {
  const Program program = pipeline_of_two();
  const std::vector<RoleMemory> memory = estimate_memory(program, small_machine());
  ASSERT_EQ(memory.size(), program.roles.size());
  for (std::size_t r = 0; r < memory.size(); ++r) {
    const Role& role = program.roles[r];
    EXPECT_EQ(memory[r].total, role.arena_bytes + role.persistent_bytes + ByteCount(40 << 20));
    EXPECT_EQ(memory[r].stage, role.stage);
  }
}

TEST(MemoryEstimate, WhatDoesNotFitIsNamedByStageRankCauseAndAmount) {
  const Program program = pipeline_of_two();
  DeviceProfile profile = small_machine();
  const std::vector<RoleMemory> memory = estimate_memory(program, profile);
  EXPECT_FALSE(exceeds_memory(memory, profile, 2).has_value());

  // One byte less than the worst rank needs.
  const RoleMemory& most = worst(memory);
  std::get<MeasuredProfile>(profile.data).memory = (most.total - ByteCount(1)) * 2;
  const std::optional<Infeasible> infeasible = exceeds_memory(memory, profile, 2);
  ASSERT_TRUE(infeasible.has_value());
  EXPECT_EQ(infeasible->reason, InfeasibleReason::kMemory);
  EXPECT_EQ(infeasible->needed.value() - infeasible->available.value(), ByteCount(1));
  EXPECT_TRUE(contains(infeasible->detail, "stage " + std::to_string(most.stage)));
  EXPECT_TRUE(contains(infeasible->detail, "runtime")) << infeasible->detail;  // 40 MiB of a tiny model's total
}

}  // namespace
}  // namespace trainyard::simulator
