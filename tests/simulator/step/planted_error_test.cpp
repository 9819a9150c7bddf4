// Prediction against "measurement" where the truth is known: the measurement is a simulation too, in which one
// cost term is 10 % longer. compare_steps() must point at that term, whatever waiting it causes.
#include <gtest/gtest.h>

#include <functional>
#include <variant>

#include "core/plan/comparison.h"
#include "simulator/simulate_plan.h"
#include "tests/core/program/tiny_plan.h"
#include "tests/simulator/support/profiles.h"

namespace trainyard::simulator {
namespace {

constexpr double kPlanted = 1.10;

// A simulated trace has a rank per role; a measured one has them all.
Trace as_measured(const Program& program, const Trace& simulated) {
  Trace trace = simulated;
  trace.simulated = false;
  trace.slices.clear();
  for (std::int64_t r = 0; r < program.mesh.ranks(); ++r) {
    for (Slice slice : simulated.slices) {
      if (slice.role == program.bindings[Rank(r).at()].role) {
        slice.rank = Rank(r);
        trace.slices.push_back(slice);
      }
    }
  }
  return trace;
}

void expect_points_at(const std::string& name, const Layout& layout,
                      const std::function<bool(const Program&, const Instruction&)>& planted) {
  const DeviceProfile profile = small_machine();
  const auto outcome = simulate_plan(testing::tiny_plan(layout), profile);
  const Simulation& simulation = std::get<Simulation>(outcome);
  StepCosts costs = simulation.costs;
  int changed = 0;
  for (const Role& role : simulation.program.roles) {
    for (const Instruction& instruction : role.instructions) {
      if (planted(simulation.program, instruction)) {
        Nanoseconds& work = costs.work[role.id.at()][instruction.id.at()];
        work = static_cast<Nanoseconds>(static_cast<double>(work) * kPlanted);
        ++changed;
      }
    }
  }
  ASSERT_GT(changed, 0);
  const Trace measured = as_measured(simulation.program, simulate_step(simulation.program, costs).trace);
  const StepComparison comparison = compare_steps(simulation.program, simulation.step.trace, {&measured, 1});
  ASSERT_TRUE(comparison.largest.has_value());
  const ComparedTime& largest = comparison.terms[*comparison.largest];
  EXPECT_EQ(largest.name, name) << describe(layout);
  EXPECT_GT(largest.share, 0.9) << describe(layout);
  EXPECT_LT(largest.own_error.si(), 0.0);
}

TEST(PlantedError, OfTenPercentInATermIsFound) {
  for (const Layout& layout : testing::layouts_of(4)) {
    expect_points_at("mlp backward_weight", layout, [](const Program& program, const Instruction& instruction) {
      return instruction.kind == InstructionKind::kBackwardWeight && instruction.segment &&
             program.segments[instruction.segment->at()].kind == SegmentKind::kMlp;
    });
    expect_points_at("attention forward", layout, [](const Program& program, const Instruction& instruction) {
      return instruction.kind == InstructionKind::kForward && instruction.segment &&
             program.segments[instruction.segment->at()].kind == SegmentKind::kAttention;
    });
    if (layout.tensor == 4 && !layout.sequence_parallel) {
      expect_points_at("all_reduce tensor", layout, [](const Program& program, const Instruction& instruction) {
        return instruction.communication && instruction.communication->kind == CommunicationKind::kAllReduce &&
               program.groups[instruction.communication->group.at()].kind == GroupKind::kTensor;
      });
    }
  }
}

}  // namespace
}  // namespace trainyard::simulator
