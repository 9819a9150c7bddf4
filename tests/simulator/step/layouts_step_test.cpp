// Every kind of layout runs to its end, and takes no less than its busiest stream.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/program/host_update.h"
#include "simulator/step/simulate_step.h"
#include "tests/core/program/layouts.h"

namespace trainyard::simulator {
namespace {

constexpr Nanoseconds kCompute = 1000;
constexpr Nanoseconds kMove = 100;

StepCosts flat_costs(const Program& program) {
  StepCosts costs;
  for (const Role& role : program.roles) {
    std::vector<Nanoseconds>& work = costs.work.emplace_back();
    for (const Instruction& instruction : role.instructions) {
      work.push_back(instruction.communication ? kMove : kCompute);
    }
  }
  for (const Group& group : program.groups) {
    costs.overlap.push_back({group.size, 1.0, 1.0});
  }
  return costs;
}

TEST(LayoutsStep, EveryLayoutFinishesAndNoStreamIsBusyLongerThanTheStep) {
  for (const auto& [name, plan] : trainyard::testing::plans_of_every_kind()) {
    for (const RoleDetail detail : {RoleDetail::kExact, RoleDetail::kByStage}) {
      const Program program = compile(plan, ProgramKind::kTraining, detail);
      const StepResult step = simulate_step(program, flat_costs(program), TraceDetail::kNone);
      for (const Role& role : program.roles) {
        // All but communication, and what PCIe and the host do.
        const auto computes =
            std::count_if(role.instructions.begin(), role.instructions.end(), [](const Instruction& i) {
              return !i.communication && i.kind != InstructionKind::kOffload && !updates_on_host(i);
            });
        EXPECT_EQ(step.roles[role.id.at()].compute, computes * kCompute) << name;
        EXPECT_GE(step.duration, computes * kCompute) << name;
      }
    }
  }
}

TEST(LayoutsStep, MergedRolesTakeAsLongAsRanksOfTheirOwn) {
  for (const auto& [name, plan] : trainyard::testing::plans_of_every_kind()) {
    const Program exact = compile(plan);
    const Program merged = compile(plan, ProgramKind::kTraining, RoleDetail::kByStage);
    EXPECT_EQ(simulate_step(exact, flat_costs(exact), TraceDetail::kNone).duration,
              simulate_step(merged, flat_costs(merged), TraceDetail::kNone).duration)
        << name;
  }
}

}  // namespace
}  // namespace trainyard::simulator
