// Outlines take as long as the programs they stand for, to the nanosecond.
#include "simulator/step/outline_execution.h"

#include <gtest/gtest.h>

#include <random>

#include "core/program/outline.h"
#include "simulator/step/simulate_step.h"
#include "tests/core/program/layouts.h"

namespace trainyard::simulator {
namespace {

using trainyard::testing::even_plan;

// A time that differs between kinds, chunks and sizes, so that little happens at once and what does is by design.
Nanoseconds work_of(const Instruction& instruction, Nanoseconds coarse) {
  const auto kind = static_cast<Nanoseconds>(instruction.kind);
  if (!instruction.communication) {
    return coarse * (3 + kind % 5);
  }
  return coarse / 2 * (1 + static_cast<Nanoseconds>(instruction.communication->group.value()) % 4) +
         instruction.communication->payload.value() % 97;
}

std::vector<OverlapSlowdown> slowdowns(const std::vector<Group>& groups) {
  std::vector<OverlapSlowdown> made;
  for (const Group& group : groups) {
    switch (group.kind) {
      case GroupKind::kTensor:
      case GroupKind::kExpert:
        made.push_back({group.size, 1e6, 1.0});
        break;
      case GroupKind::kData:
      case GroupKind::kShard:
        made.push_back({group.size, 1.3, 1.1});
        break;
      default:
        made.push_back({group.size, 1.0, 1.0});
    }
  }
  return made;
}

// Instruction by instruction.
void expect_same_times(const Program& program, const StepCosts& costs, const OutlineTimes& times) {
  Execution execution(program, costs);
  execution.run();
  for (std::size_t r = 0; r < program.roles.size(); ++r) {
    for (std::size_t i = 0; i < times[r].size(); ++i) {
      const InstructionTimes& whole = execution.times()[execution.table().first[r] + i];
      ASSERT_EQ(times[r][i].begin, whole.begin) << "role " << r << " instruction " << i;
      ASSERT_EQ(times[r][i].moving, whole.moving) << "role " << r << " instruction " << i;
      ASSERT_EQ(times[r][i].end, whole.end) << "role " << r << " instruction " << i;
    }
  }
}

void expect_as_long(const Plan& plan) {
  const Program program = compile(plan, ProgramKind::kTraining, RoleDetail::kByStage);
  const ProgramOutline written = outline(plan);
  for (const Nanoseconds coarse : {1000, 1777}) {
    StepCosts whole;
    whole.overlap = slowdowns(program.groups);
    for (const Role& role : program.roles) {
      std::vector<Nanoseconds>& work = whole.work.emplace_back();
      for (const Instruction& instruction : role.instructions) {
        work.push_back(work_of(instruction, coarse));
      }
    }
    OutlineCosts costs;
    costs.overlap = whole.overlap;
    for (const RoleOutline& role : written.roles) {
      std::vector<Nanoseconds>& work = costs.work.emplace_back();
      for (const Instruction& example : role.examples->instructions) {
        work.push_back(work_of(example, coarse));
      }
    }
    OutlineTimes times;
    EXPECT_EQ(OutlineExecution(written).run(costs, &times), simulate_step(program, whole, TraceDetail::kNone).duration)
        << coarse;
    expect_same_times(program, whole, times);
  }
}

TEST(OutlineExecution, OfEveryKindOfLayoutTakesAsLongAsItsProgram) {
  for (const auto& [name, small] : trainyard::testing::plans_of_every_kind()) {
    for (const std::int64_t accumulation : {3, 8, 16}) {
      Plan plan = small;
      if (plan.layout.schedule == ScheduleKind::kDualPipe && accumulation < 2 * plan.layout.pipeline) {
        continue;
      }
      plan.layout.accumulation = accumulation;
      plan.training.global_batch = plan.layout.sequences_per_step();
      SCOPED_TRACE(name + " of " + std::to_string(accumulation));
      expect_as_long(plan);
    }
  }
}

TEST(OutlineExecution, OfRandomPipelinesTakesAsLongAsItsProgram) {
  std::mt19937 engine(11);
  const auto of = [&](std::initializer_list<int> values) {
    return *(values.begin() + std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(engine));
  };
  for (int i = 0; i < 60; ++i) {
    Layout layout;
    layout.schedule = static_cast<ScheduleKind>(of({0, 1, 2, 3, 4, 5, 6}));
    layout.pipeline = of({2, 4});
    const bool two = layout.schedule == ScheduleKind::kInterleaved || layout.schedule == ScheduleKind::kZeroBubbleV ||
                     layout.schedule == ScheduleKind::kDualPipe;
    layout.chunks_per_stage = two ? 2 : 1;
    layout.tensor = of({1, 2});
    layout.sequence_parallel = layout.tensor > 1;
    layout.context = of({1, 2});
    layout.data = of({1, 2});
    layout.zero_stage = of({0, 1, 2, 3});
    layout.recompute = of({0, 1}) == 0 ? Recompute::kNone : Recompute::kFull;
    layout.overlap_gradient_reduce = of({0, 1}) == 1;
    layout.accumulation = of({8, 12, 20});
    layout.bucket_bytes = ByteCount(256 << 10);
    SCOPED_TRACE(describe(layout));
    expect_as_long(even_plan(trainyard::testing::even_model(), layout));
  }
}

}  // namespace
}  // namespace trainyard::simulator
