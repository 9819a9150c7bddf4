// Outlines written from templates against the programs they stand for, instruction by instruction.
#include "core/program/outline.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/core/program/layouts.h"

namespace trainyard {
namespace {

using testing::even_plan;

// Whether its instructions stand for more than one each.
bool from_template(const RoleOutline& role) { return role.examples->instructions.size() < role.instructions.size(); }

bool alike(const Instruction& a, const Instruction& b, const ProgramOutline& in_a, const ProgramOutline& in_b) {
  const auto operations = [](const Instruction& i, const ProgramOutline& in) {
    return i.segment ? in.frame.segments[i.segment->at()].operations(pass_of(i.kind)) : i.operations;
  };
  if (a.kind != b.kind || a.stream != b.stream || a.chunk != b.chunk || a.accumulate != b.accumulate ||
      operations(a, in_a) != operations(b, in_b) || a.communication.has_value() != b.communication.has_value()) {
    return false;
  }
  return !a.communication ||
         (a.communication->kind == b.communication->kind && a.communication->group == b.communication->group &&
          a.communication->algorithm == b.communication->algorithm &&
          a.communication->payload == b.communication->payload &&
          a.communication->extent.expected == b.communication->extent.expected &&
          a.communication->peer_stage.has_value() == b.communication->peer_stage.has_value());
}

void expect_same(const ProgramOutline& written, const ProgramOutline& whole) {
  ASSERT_EQ(written.roles.size(), whole.roles.size());
  for (std::size_t r = 0; r < written.roles.size(); ++r) {
    const RoleOutline& a = written.roles[r];
    const RoleOutline& b = whole.roles[r];
    SCOPED_TRACE("role " + std::to_string(r));
    EXPECT_EQ(a.role.representative, b.role.representative);
    EXPECT_EQ(a.role.ranks, b.role.ranks);
    ASSERT_EQ(a.instructions.size(), b.instructions.size());
    for (std::size_t i = 0; i < a.instructions.size(); ++i) {
      ASSERT_TRUE(alike(a.example(i), b.example(i), written, whole)) << "instruction " << i;
      ASSERT_EQ(a.instructions[i].waits_end, b.instructions[i].waits_end) << "instruction " << i;
    }
    ASSERT_EQ(a.waits, b.waits);
    ASSERT_EQ(a.transfers.size(), b.transfers.size());
    for (std::size_t t = 0; t < a.transfers.size(); ++t) {
      ASSERT_EQ(a.transfers[t].instruction, b.transfers[t].instruction);
      ASSERT_EQ(a.transfers[t].peer_stage, b.transfers[t].peer_stage);
      ASSERT_EQ(a.transfers[t].tag, b.transfers[t].tag);
    }
    EXPECT_EQ(a.arena_bytes, b.arena_bytes);
    EXPECT_EQ(a.persistent_bytes, b.persistent_bytes);
    EXPECT_EQ(a.peak, b.peak);
    EXPECT_EQ(a.peak_by_cause, b.peak_by_cause);
  }
}

TEST(Outline, OfEveryKindOfLayoutIsThatOfItsProgramInstructionByInstruction) {
  for (const auto& [name, small] : testing::plans_of_every_kind()) {
    for (const std::int64_t accumulation : {8, 16}) {
      Plan plan = small;
      plan.layout.accumulation = accumulation;
      plan.training.global_batch = plan.layout.sequences_per_step();
      SCOPED_TRACE(name + " of " + std::to_string(accumulation));
      const Program program = compile(plan, ProgramKind::kTraining, RoleDetail::kByStage);
      const ProgramOutline written = outline(plan);
      expect_same(written, outline(program));
      for (const RoleOutline& role : written.roles) {
        EXPECT_TRUE(from_template(role)) << "stage " << role.role.stage;
      }
    }
  }
}

TEST(Outline, OfInterleavedAndTurnedPipelinesIsThatOfItsProgram) {
  for (const ScheduleKind schedule : {ScheduleKind::kGpipe, ScheduleKind::k1f1b, ScheduleKind::kInterleaved,
                                      ScheduleKind::kZeroBubbleV, ScheduleKind::kDualPipe}) {
    for (const int zero : {0, 1, 3}) {
      for (const bool full : {false, true}) {
        Layout layout;
        layout.schedule = schedule;
        layout.pipeline = 4;
        const bool one = schedule == ScheduleKind::kGpipe || schedule == ScheduleKind::k1f1b;
        layout.chunks_per_stage = one ? 1 : 2;
        layout.data = 2;
        layout.zero_stage = zero;
        layout.tensor = 2;
        layout.context = full ? 2 : 1;
        layout.sequence_parallel = true;
        layout.recompute = full ? Recompute::kFull : Recompute::kNone;
        layout.accumulation = 24;
        layout.bucket_bytes = ByteCount(256 << 10);
        const Plan plan = even_plan(testing::even_model(), layout);
        SCOPED_TRACE(describe(layout));
        expect_same(outline(plan), outline(compile(plan, ProgramKind::kTraining, RoleDetail::kByStage)));
      }
    }
  }
}

// A step of three micro-batches has none between the first and the last that could stand for others.
TEST(Outline, OfFewMicroBatchesIsGeneratedWhole) {
  Layout layout;
  layout.data = 2;
  layout.accumulation = 3;
  layout.zero_stage = 1;
  const Plan plan = even_plan(testing::even_model(), layout);
  const ProgramOutline made = outline(plan);
  expect_same(made, outline(compile(plan, ProgramKind::kTraining, RoleDetail::kByStage)));
  EXPECT_FALSE(from_template(made.roles.front()));
}

}  // namespace
}  // namespace trainyard
