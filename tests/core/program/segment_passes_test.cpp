// Which passes over memory a block's segments list, and how many bytes each moves.
#include <gtest/gtest.h>

#include <map>
#include <stdexcept>

#include "core/program/program.h"
#include "tests/core/program/layouts.h"

namespace trainyard {
namespace {

using testing::even_plan;

struct Passes {
  int count = 0;
  std::int64_t bytes = 0;
};

// Of one training step on one rank.
std::map<ElementwiseKernel, Passes> passes_of(const ModelSpec& model) {
  const Program program = compile(even_plan(model, Layout{}));
  std::map<ElementwiseKernel, Passes> passes;
  for (const Instruction& instruction : program.roles.front().instructions) {
    if (!instruction.segment) {
      continue;
    }
    const Segment& segment = program.segments[instruction.segment->at()];
    for (const Operation& operation : segment.operations(pass_of(instruction.kind))) {
      if (const auto* one = std::get_if<Elementwise>(&operation)) {
        passes[one->kernel].count += 1;
        passes[one->kernel].bytes += (one->read + one->written).value();
      }
    }
  }
  return passes;
}

// 8 layers, hidden 128, inner 256, one micro-batch of 512 tokens in fp32. Four biases a layer: of query, key and value
// (384 wide), of the output, of up and of down.
TEST(SegmentPasses, OfGpt2AreItsOwn) {
  std::map<ElementwiseKernel, Passes> passes = passes_of(testing::gpt2_model());
  constexpr std::int64_t kTokens = 512, kHidden = 128, kInner = 256;
  EXPECT_EQ(passes[ElementwiseKernel::kGeluForward].count, 8);
  EXPECT_EQ(passes[ElementwiseKernel::kGeluForward].bytes, 8 * 4 * 2 * kTokens * kInner);
  EXPECT_EQ(passes[ElementwiseKernel::kGeluBackward].bytes, 8 * 4 * 3 * kTokens * kInner);
  EXPECT_EQ(passes[ElementwiseKernel::kBiasBackward].count, 8 * 4);
  EXPECT_EQ(passes[ElementwiseKernel::kBiasBackward].bytes,
            8 * 4 * (kTokens + 1) * (3 * kHidden + kHidden + kInner + kHidden));
  EXPECT_EQ(passes[ElementwiseKernel::kPositionForward].count, 1);
  EXPECT_EQ(passes[ElementwiseKernel::kPositionForward].bytes, 4 * 3 * kTokens * kHidden);
  EXPECT_EQ(passes[ElementwiseKernel::kPositionBackward].bytes, 4 * 2 * kTokens * kHidden);
  EXPECT_EQ(passes.count(ElementwiseKernel::kSwigluForward), 0U);
  EXPECT_EQ(passes.count(ElementwiseKernel::kRopeForward), 0U);
}

// fp8 stays within a layer's products: the head's are bf16's, and so is all that passes over memory and every buffer.
// Its backward products say which operand is a gradient.
TEST(SegmentPasses, InFp8AreThoseOfBf16) {
  Layout layout;
  layout.compute_type = layout.parameter_type = layout.communication_type = DataType::kBf16;
  const Program bf16 = compile(even_plan(testing::even_model(), layout));
  layout.compute_type = DataType::kFp8;
  const Program fp8 = compile(even_plan(testing::even_model(), layout));
  ASSERT_EQ(fp8.segments.size(), bf16.segments.size());
  for (std::size_t i = 0; i < fp8.segments.size(); ++i) {
    const bool layers = fp8.segments[i].kind != SegmentKind::kHead;
    for (const Pass pass : {Pass::kForward, Pass::kBackwardInput, Pass::kBackwardWeight}) {
      std::vector<Operation> expected = bf16.segments[i].operations(pass);
      for (Operation& operation : expected) {
        if (auto* gemm = std::get_if<Gemm>(&operation)) {
          EXPECT_EQ(gemm->gradient, pass == Pass::kForward ? GradientOperand::kNone : GradientOperand::kA);
          gemm->type = layers ? DataType::kFp8 : DataType::kBf16;
        }
      }
      EXPECT_EQ(fp8.segments[i].operations(pass), expected);
    }
  }
  EXPECT_EQ(fp8.roles[0].arena_bytes, bf16.roles[0].arena_bytes);
  EXPECT_EQ(fp8.roles[0].persistent_bytes, bf16.roles[0].persistent_bytes);
}

// A tied table that two stages hold is in a bucket of its own at both ends, cut alike; the positions beside it are then
// written by the same instruction, so that their reduction waits for it.
TEST(TiedTables, LieInEqualBucketsAtBothEndsOfThePipeline) {
  Layout layout;
  layout.pipeline = 2;
  layout.data = 2;
  layout.zero_stage = 1;
  const Program program = compile(even_plan(testing::gpt2_model(), layout));
  const auto table_of = [&](const Role& role) -> const Bucket& {
    for (const Bucket& bucket : role.buckets) {
      if (bucket.parameters.front().parameter.kind == ParameterKind::kEmbedding) {
        return bucket;
      }
    }
    throw std::logic_error("no table");
  };
  const Role& first = program.role_of(program.mesh.rank_at({.pipeline = 0}));
  const Role& last = program.role_of(program.mesh.rank_at({.pipeline = 1}));
  EXPECT_EQ(table_of(first).parameters.size(), 1U);
  EXPECT_EQ(table_of(first).boundaries, table_of(last).boundaries);
  EXPECT_EQ(table_of(first).parameters[0].parameter.name, table_of(last).parameters[0].parameter.name);
  int written = 0;
  for (const Instruction& instruction : first.instructions) {
    const bool backward = instruction.kind == InstructionKind::kBackwardWeight;
    written += backward && instruction.bucket == table_of(first).id && instruction.writes.size() == 2 ? 1 : 0;
  }
  EXPECT_EQ(written, 1);
  for (const Role* role : {&first, &last}) {
    int summed = 0;
    for (const Instruction& instruction : role->instructions) {
      if (instruction.communication &&
          instruction.communication->group.value() == static_cast<int>(GroupKind::kEmbedding)) {
        ++summed;
        EXPECT_EQ(instruction.communication->elements, table_of(*role).boundaries[1]);  // data index 0's share
      }
    }
    EXPECT_EQ(summed, 1);
  }
}

TEST(SegmentPasses, OfLlamaHaveNeitherBiasNorPosition) {
  std::map<ElementwiseKernel, Passes> passes = passes_of(testing::even_model());
  EXPECT_EQ(passes[ElementwiseKernel::kSwigluForward].count, 8);
  for (const ElementwiseKernel kernel :
       {ElementwiseKernel::kGeluForward, ElementwiseKernel::kGeluBackward, ElementwiseKernel::kBiasBackward,
        ElementwiseKernel::kPositionForward, ElementwiseKernel::kPositionBackward}) {
    EXPECT_EQ(passes.count(kernel), 0U) << to_string(kernel);
  }
}

}  // namespace
}  // namespace trainyard
