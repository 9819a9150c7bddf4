// Attention and feed-forward side by side, counted by hand: 8 layers, one micro-batch of one sequence.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/program/program.h"
#include "tests/core/program/layouts.h"

namespace trainyard {
namespace {

using testing::even_model;
using testing::even_plan;

constexpr std::int64_t kLayers = 8;
constexpr std::int64_t kWhole = 512 * 128;  // a sequence's hidden states

Program program_of(const ModelSpec& model, bool sequence_parallel) {
  Layout layout;
  layout.tensor = 2;
  layout.sequence_parallel = sequence_parallel;
  layout.accumulation = 1;
  return compile(even_plan(model, layout), ProgramKind::kTraining, RoleDetail::kByStage);
}

// Collectives of a kind over the tensor-parallel ranks, of a whole sequence's hidden states.
std::int64_t collectives(const Program& program, CommunicationKind kind) {
  const std::vector<Instruction>& all = program.roles.front().instructions;
  return std::count_if(all.begin(), all.end(), [&](const Instruction& i) {
    return i.communication && i.communication->kind == kind && i.communication->elements == kWhole &&
           program.groups[i.communication->group.at()].kind == GroupKind::kTensor;
  });
}

std::int64_t segments(const Program& program, SegmentKind kind, InstructionKind pass) {
  const std::vector<Instruction>& all = program.roles.front().instructions;
  return std::count_if(all.begin(), all.end(), [&](const Instruction& i) {
    return i.segment && i.kind == pass && program.segments[i.segment->at()].kind == kind;
  });
}

// Forward a layer reduces the sum of its two branches; backward it reduces the gradient of each norm's output. The
// embedding adds one forward and the head one backward. One after the other, branches reduce one each either way.
TEST(SideBySide, ALayerReducesItsSumOnceForwardAndOnceForEachNormBackward) {
  const auto reduced = [](const ModelSpec& model) {
    return collectives(program_of(model, false), CommunicationKind::kAllReduce);
  };
  EXPECT_EQ(reduced(testing::side_by_side_model(true)), (kLayers + 1) + (kLayers + 1));
  EXPECT_EQ(reduced(testing::side_by_side_model(false)), (kLayers + 1) + (2 * kLayers + 1));
  EXPECT_EQ(reduced(even_model()), (2 * kLayers + 1) + (2 * kLayers + 1));
}

// With sequence parallelism a reduction leaves slices. Gathered are: forward each norm's output, the final one too;
// backward the gradient of the layer's output, once for both branches, and the embedding's; for weights the input of
// attention, of the mlp and of the head.
TEST(SideBySide, SlicesAreGatheredOncePerNormAndOnceForBothGradients) {
  for (const bool one_norm : {true, false}) {
    const Program program = program_of(testing::side_by_side_model(one_norm), true);
    const std::int64_t norms = one_norm ? 1 : 2;
    EXPECT_EQ(collectives(program, CommunicationKind::kReduceScatter), (kLayers + 1) + (norms * kLayers + 1));
    EXPECT_EQ(collectives(program, CommunicationKind::kAllGather),
              (norms * kLayers + 1) + (kLayers + 1) + (2 * kLayers + 1));
  }
}

// A layer's norms, and the final one; each has the three passes. Its weights are a scale and a shift each.
TEST(SideBySide, OneNormServesBothBranches) {
  for (const bool one_norm : {true, false}) {
    const Program program = program_of(testing::side_by_side_model(one_norm), false);
    const std::int64_t norms = (one_norm ? 1 : 2) * kLayers + 1;
    for (const InstructionKind pass :
         {InstructionKind::kForward, InstructionKind::kBackwardInput, InstructionKind::kBackwardWeight}) {
      EXPECT_EQ(segments(program, SegmentKind::kNorm, pass), norms);
    }
    std::int64_t elements = 0;
    for (const Bucket& bucket : program.roles.front().buckets) {
      for (const BucketParameter& placed : bucket.parameters) {
        const ParameterKind kind = placed.parameter.kind;
        const bool norm = kind == ParameterKind::kAttentionNorm || kind == ParameterKind::kMlpNorm;
        elements += norm ? placed.elements : 0;
      }
    }
    EXPECT_EQ(elements, (one_norm ? 1 : 2) * kLayers * 2 * 128);
  }
}

// Each branch adds to what the other has made: no pass of its own over memory, one product that reads its output.
TEST(SideBySide, TheSecondBranchsProductAddsToTheFirsts) {
  for (const bool one_norm : {true, false}) {
    const Program program = program_of(testing::side_by_side_model(one_norm), false);
    const auto adds = [&](SegmentKind kind, Pass pass) {
      const auto segment = std::find_if(program.segments.begin(), program.segments.end(),
                                        [&](const Segment& s) { return s.kind == kind; });
      return std::get<Gemm>(segment->operations(pass).back()).accumulate;
    };
    EXPECT_TRUE(adds(SegmentKind::kMlp, Pass::kForward));
    EXPECT_FALSE(adds(SegmentKind::kMlp, Pass::kBackwardInput));
    EXPECT_EQ(adds(SegmentKind::kAttention, Pass::kBackwardInput), one_norm);
  }
}

}  // namespace
}  // namespace trainyard
