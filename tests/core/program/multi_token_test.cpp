// Multi-token prediction, counted by hand: 8 layers of hidden size 128, 4 micro-batches of one sequence of 512.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/program/program.h"
#include "tests/core/program/layouts.h"

namespace trainyard {
namespace {

using testing::even_model;
using testing::even_plan;

constexpr std::int64_t kMicroBatches = 4;
constexpr std::int64_t kHidden = 128;
constexpr std::int64_t kTokens = 512;
constexpr std::int64_t kVocabulary = 512;

Program program_of(const ModelSpec& model, const Layout& layout) {
  return compile(even_plan(model, layout), ProgramKind::kTraining, RoleDetail::kByStage);
}

Layout two_stages() {
  Layout layout;
  layout.pipeline = 2;
  layout.accumulation = kMicroBatches;
  return layout;
}

std::int64_t segments(const Program& program, const Role& role, SegmentKind kind, InstructionKind pass) {
  return std::count_if(role.instructions.begin(), role.instructions.end(), [&](const Instruction& i) {
    return i.segment && i.kind == pass && program.segments[i.segment->at()].kind == kind;
  });
}

// Each block embeds the next tokens, merges them with the hidden state behind two norms, runs a layer and the head
// behind one more norm: all on the last stage, whose own part is 4 layers of two norms and a head behind one.
TEST(MultiToken, ABlockIsAnEmbeddingAProductALayerAndAHeadOnTheLastStage) {
  for (const std::int64_t blocks : {1, 2}) {
    const Program program = program_of(testing::multi_token_model(even_model(), blocks), two_stages());
    const Role& last = program.roles.back();
    const auto per_micro_batch = [&](SegmentKind kind, InstructionKind pass = InstructionKind::kForward) {
      return segments(program, last, kind, pass) / kMicroBatches;
    };
    EXPECT_EQ(per_micro_batch(SegmentKind::kEmbedding), blocks);
    EXPECT_EQ(per_micro_batch(SegmentKind::kEmbedding, InstructionKind::kBackwardWeight), blocks);
    EXPECT_EQ(per_micro_batch(SegmentKind::kNorm), 4 * 2 + 1 + blocks * (2 + 2 + 1));
    EXPECT_EQ(per_micro_batch(SegmentKind::kAttention), 4 + blocks);
    EXPECT_EQ(per_micro_batch(SegmentKind::kLoss), 1 + blocks);
    for (const InstructionKind pass :
         {InstructionKind::kForward, InstructionKind::kBackwardInput, InstructionKind::kBackwardWeight}) {
      EXPECT_EQ(per_micro_batch(SegmentKind::kMerge, pass), blocks);
      EXPECT_EQ(per_micro_batch(SegmentKind::kHead, pass), 1 + blocks);
    }
    EXPECT_EQ(segments(program, program.roles.front(), SegmentKind::kMerge, InstructionKind::kForward), 0);
  }
}

// The product takes both, 2 h inputs a token to h outputs: 2 * 2 h * h FLOPs a token, and twice as many backward.
TEST(MultiToken, TheProductTakesHiddenStateAndEmbeddingSideBySide) {
  const Program program = program_of(testing::multi_token_model(even_model(), 1), two_stages());
  const auto merge = std::find_if(program.segments.begin(), program.segments.end(),
                                  [](const Segment& s) { return s.kind == SegmentKind::kMerge; });
  ASSERT_NE(merge, program.segments.end());
  const std::int64_t forward = 2 * kTokens * 2 * kHidden * kHidden;
  EXPECT_EQ(flops(merge->forward).value(), forward);
  EXPECT_EQ(flops(merge->backward_input).value() + flops(merge->backward_weight).value(), 2 * forward);
}

// Tensor parallelism cuts the product's outputs. Without sequence parallelism its columns are gathered, h a token, and
// the gradient of both inputs is reduced, 2 h a token.
TEST(MultiToken, TensorParallelRanksGatherColumnsAndReduceBothInputsGradients) {
  Layout layout;
  layout.tensor = 2;
  layout.accumulation = kMicroBatches;
  const Program program = program_of(testing::multi_token_model(even_model(), 1), layout);
  std::int64_t gathered = 0, reduced = 0;
  for (const Instruction& i : program.roles.front().instructions) {
    if (i.communication && program.groups[i.communication->group.at()].kind == GroupKind::kTensor) {
      gathered +=
          i.communication->kind == CommunicationKind::kAllGather && i.communication->elements == kTokens * kHidden;
      reduced +=
          i.communication->kind == CommunicationKind::kAllReduce && i.communication->elements == 2 * kTokens * kHidden;
    }
  }
  EXPECT_EQ(gathered, kMicroBatches);
  EXPECT_EQ(reduced, kMicroBatches);
}

// On the last stage: 4 layers of 2 norms, 4 h^2 of attention and 3 * 2 h * h of gate, up and down; the final norm; the
// head's table. A block adds such a layer, a product of 2 h * h, three norms; and once a copy of the embedding's table.
TEST(MultiToken, TheLastStageHoldsTheBlocksAndACopyOfTheTable) {
  const std::int64_t layer = 2 * kHidden + (4 + 6) * kHidden * kHidden;
  for (const std::int64_t blocks : {0, 1, 2}) {
    const Program program = program_of(testing::multi_token_model(even_model(), blocks), two_stages());
    std::int64_t elements = 0;
    for (const Bucket& bucket : program.roles.back().buckets) {
      elements += bucket.elements;
    }
    const std::int64_t table = kVocabulary * kHidden;
    EXPECT_EQ(elements, 4 * layer + kHidden + table + blocks * (layer + 2 * kHidden * kHidden + 3 * kHidden) +
                            (blocks > 0 ? table : 0));
  }
}

// Each stage has the gradient of what its own copy embedded: the two are summed once a step, all of the table in fp32.
TEST(MultiToken, CopiesOfTheTableAreSummedOnceAStep) {
  const Program program = program_of(testing::multi_token_model(even_model(), 2), two_stages());
  for (const Role& role : program.roles) {
    std::int64_t sums = 0;
    for (const Instruction& i : role.instructions) {
      if (i.communication && program.groups[i.communication->group.at()].kind == GroupKind::kEmbedding) {
        ++sums;
        EXPECT_EQ(i.communication->payload.value(), kVocabulary * kHidden * 4);
      }
    }
    EXPECT_EQ(sums, 1);
  }
}

// Under ZeRO 0 and 1 a bucket is reduced once a step: when the last micro-batch of every chunk that uses it is done.
// The first stage of DualPipe and ZB-V has both ends of the model in chunks of their own, and one table for both.
TEST(MultiToken, NoBucketIsReducedBeforeItsLastGradient) {
  for (const auto& [name, plan] : testing::plans_of_every_kind()) {
    if (plan.layout.zero_stage > 1) {
      continue;
    }
    for (const Role& role : compile(plan, ProgramKind::kTraining, RoleDetail::kByStage).roles) {
      std::vector<std::int64_t> reduced(role.buckets.size(), -1);
      for (const Instruction& i : role.instructions) {
        if (i.bucket && i.kind == InstructionKind::kReduce && i.stream == Stream::kData) {
          reduced[i.bucket->at()] = i.id.value();
        }
        if (i.bucket && i.kind == InstructionKind::kBackwardWeight) {
          EXPECT_EQ(reduced[i.bucket->at()], -1) << name << " stage " << role.stage << " instruction " << i.id.value();
        }
      }
    }
  }
}

}  // namespace
}  // namespace trainyard
