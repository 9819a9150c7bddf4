#include "core/plan/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/program/tiny_plan.h"
#include "tests/support/error_of.h"

namespace trainyard {
namespace {

// One tensor-parallel pair whose ranks share a role: forward, all-reduce, forward.
Program pair_program() {
  Layout layout;
  layout.tensor = 2;
  Program program;
  program.hash = "pair";
  program.mesh = Mesh(layout);
  program.segments = {{.kind = SegmentKind::kMlp}, {.kind = SegmentKind::kNorm}};
  program.groups = {{GroupId(0), GroupKind::kTensor, 2}};
  program.bindings = {{RoleId(0), 0}, {RoleId(0), 0}};
  Role role;
  role.ranks = 2;
  for (int i = 0; i < 3; ++i) {
    Instruction instruction;
    instruction.id = InstructionId(i);
    if (i == 1) {
      instruction.kind = InstructionKind::kReduce;
      instruction.stream = Stream::kTensor;
      instruction.communication = Communication{};
    } else {
      instruction.segment = SegmentId(i == 0 ? 0 : 1);
    }
    role.instructions.push_back(std::move(instruction));
  }
  program.roles = {role};
  return program;
}

Slice slice(const Program& program, int rank, int instruction, Nanoseconds begin, Nanoseconds end) {
  const Instruction& what = program.roles[0].instructions[static_cast<std::size_t>(instruction)];
  Slice result;
  result.rank = Rank(rank);
  result.instruction = what.id;
  result.kind = what.kind;
  result.stream = what.stream;
  result.begin = begin;
  result.end = end;
  return result;
}

// mlp 1000, all-reduce 500, norm 200.
Trace predicted_pair(const Program& program) {
  Trace trace;
  trace.program_hash = program.hash;
  trace.duration = 1700;
  trace.slices = {slice(program, 0, 0, 0, 1000), slice(program, 0, 1, 1000, 1500), slice(program, 0, 2, 1500, 1700)};
  return trace;
}

// Rank 1's mlp takes 1400: rank 0 waits 400 in its all-reduce, which still moves data for 500 only.
Trace measured_pair(const Program& program) {
  Trace trace;
  trace.simulated = false;
  trace.program_hash = program.hash;
  trace.duration = 2100;
  trace.slices = {slice(program, 0, 0, 0, 1000), slice(program, 0, 1, 1000, 1900), slice(program, 0, 2, 1900, 2100),
                  slice(program, 1, 0, 0, 1400), slice(program, 1, 1, 1400, 1900), slice(program, 1, 2, 1900, 2100)};
  return trace;
}

const ComparedTime& row(const std::vector<ComparedTime>& rows, const std::string& name) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const ComparedTime& r) { return r.name == name; });
  check(found != rows.end(), name);
  return *found;
}

TEST(CompareSteps, TheTermThatIsOffIsNamedAndNotTheWaitingItCauses) {
  const Program program = pair_program();
  const Trace measured = measured_pair(program);
  const StepComparison comparison = compare_steps(program, predicted_pair(program), {&measured, 1});
  ASSERT_TRUE(comparison.largest.has_value());
  EXPECT_EQ(comparison.terms[*comparison.largest].name, "mlp forward");
  EXPECT_DOUBLE_EQ(comparison.terms[*comparison.largest].share, 1.0);
  // Mean over ranks: (1000 + 1400) / 2.
  EXPECT_NEAR(row(comparison.terms, "mlp forward").measured.si(), 1200e-9, 1e-15);
  EXPECT_NEAR(row(comparison.terms, "all_reduce tensor").measured.si(), 500e-9, 1e-15);
  EXPECT_NEAR(row(comparison.terms, "waiting").measured.si(), 200e-9, 1e-15);
  // Slices as they stand keep the wait: (900 + 500) / 2.
  EXPECT_NEAR(row(comparison.kinds, "reduce").measured.si(), 700e-9, 1e-15);
}

TEST(CompareSteps, TermsAddUpToTheStep) {
  const Program program = pair_program();
  const Trace measured = measured_pair(program);
  const StepComparison comparison = compare_steps(program, predicted_pair(program), {&measured, 1});
  double predicted = 0.0, run = 0.0;
  for (const ComparedTime& term : comparison.terms) {
    predicted += term.predicted.si();
    run += term.measured.si();
  }
  EXPECT_NEAR(predicted, comparison.predicted_step.si(), 1e-15);
  EXPECT_NEAR(run, comparison.measured_step.si(), 1e-15);
}

// Data that moves beside compute costs the step nothing; it shows under movement only.
TEST(CompareSteps, HiddenCommunicationIsMovementAndNotATerm) {
  const Program program = pair_program();
  Trace measured = measured_pair(program);
  for (Slice& one : measured.slices) {
    if (one.instruction == InstructionId(1)) {
      one.begin = 0;
      one.end = 700;
    }
  }
  const StepComparison comparison = compare_steps(program, predicted_pair(program), {&measured, 1});
  EXPECT_NEAR(row(comparison.terms, "all_reduce tensor").measured.si(), 0.0, 1e-15);
  EXPECT_NEAR(row(comparison.movement, "all_reduce tensor").measured.si(), 700e-9, 1e-15);
}

TEST(CompareSteps, TracesOfAnotherProgramOrWithoutARankAreErrors) {
  const Program program = pair_program();
  Trace other = measured_pair(program);
  other.program_hash = "another";
  EXPECT_TRUE(contains(error_of([&] {
                         compare_steps(program, predicted_pair(program), {&other, 1});
                       }).problem(),
                       "another"));
  Trace partial = measured_pair(program);
  partial.slices.resize(3);
  EXPECT_TRUE(contains(error_of([&] {
                         compare_steps(program, predicted_pair(program), {&partial, 1});
                       }).problem(),
                       "rank 1 lacks"));
  Trace doubled = measured_pair(program);
  doubled.slices.push_back(doubled.slices.front());
  EXPECT_TRUE(contains(error_of([&] {
                         compare_steps(program, predicted_pair(program), {&doubled, 1});
                       }).problem(),
                       "twice"));
  Trace late = measured_pair(program);
  late.slices.front().end = late.duration + 1;
  EXPECT_TRUE(contains(error_of([&] {
                         compare_steps(program, predicted_pair(program), {&late, 1});
                       }).problem(),
                       "after the step"));
}

TEST(CompareCounts, PlannedBytesStandBesideCountedOnes) {
  Layout layout;
  layout.data = 2;
  layout.micro_batch = 2;
  const Program program = compile(testing::tiny_plan(layout));
  RankCounts counts;
  counts.rank = Rank(1);
  counts.volumes = volumes(program.role_of(Rank(1)));
  counts.volumes.flops += FlopCount(2);
  counts.buffers_allocated = program.role_of(Rank(1)).arena_bytes + program.role_of(Rank(1)).persistent_bytes;
  counts.resident_peak = counts.buffers_allocated + ByteCount(100);
  const std::vector<RankComparison> rows = compare_counts(program, ByteCount(90), {&counts, 1});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].flops.measured.value() - rows[0].flops.predicted, 2);
  ASSERT_FALSE(rows[0].sent.empty());
  for (const ComparedCount& sent : rows[0].sent) {
    EXPECT_EQ(sent.predicted, sent.measured.value()) << sent.name;
  }
  std::int64_t causes = 0;
  for (const ComparedCount& memory : rows[0].memory) {
    causes += memory.measured ? 0 : memory.predicted;
    if (memory.name == "buffers") {
      EXPECT_EQ(causes, memory.predicted);
      EXPECT_EQ(memory.predicted, memory.measured.value());
    }
    if (memory.name == "resident") {
      EXPECT_EQ(memory.measured.value() - memory.predicted, 10);
    }
  }
}

}  // namespace
}  // namespace trainyard
