#include "core/program/program_hash.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "tests/core/program/tiny_plan.h"

namespace trainyard {
namespace {

using testing::tiny_plan;

TEST(ProgramHash, IsTheSameTwiceAndAnotherForAnotherLayout) {
  Layout layout;
  layout.tensor = 2;
  const std::string hash = compile(tiny_plan(layout)).hash;
  EXPECT_EQ(hash, compile(tiny_plan(layout)).hash);
  layout.micro_batch = 2;
  EXPECT_NE(hash, compile(tiny_plan(layout)).hash);
}

// Which operand is a gradient chooses its format in fp8, and nothing in other types, whose programs keep their hashes.
TEST(ProgramHash, TellsWhichOperandIsAGradientWhereItMatters) {
  for (const DataType type : {DataType::kFp8, DataType::kBf16}) {
    Layout layout;
    layout.compute_type = type;
    layout.parameter_type = layout.communication_type = DataType::kBf16;
    Program program = compile(tiny_plan(layout));
    ASSERT_EQ(program_hash(program), program.hash);
    int turned = 0;
    for (Segment& segment : program.segments) {
      for (Operation& operation : segment.backward_input) {
        if (auto* gemm = std::get_if<Gemm>(&operation); gemm != nullptr && segment.kind == SegmentKind::kMlp) {
          gemm->gradient = GradientOperand::kB;
          ++turned;
        }
      }
    }
    ASSERT_GT(turned, 0);
    EXPECT_EQ(program_hash(program) == program.hash, type == DataType::kBf16);
  }
}

}  // namespace
}  // namespace trainyard
