// Programs of every kind of layout: what they compute, move and hold, against formulas of their own.
#include "tests/core/program/layouts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/error.h"
#include "core/model/model_flops.h"
#include "core/program/program.h"
#include "tests/support/error_of.h"

namespace trainyard {
namespace {

using testing::even_model;
using testing::even_plan;
using testing::expert_model;

Layout base_layout() {
  Layout layout;
  layout.bucket_bytes = ByteCount(256 << 10);
  layout.accumulation = 4;
  return layout;
}

double flops_of(const Program& program) {
  double total = 0.0;
  for (const Role& role : program.roles) {
    total += static_cast<double>(role.ranks) * static_cast<double>(volumes(role).flops.value());
  }
  return total;
}

std::int64_t sent(const Program& program, const Role& role, GroupKind group, CommunicationKind kind) {
  std::int64_t bytes = 0;
  for (const Instruction& instruction : role.instructions) {
    if (instruction.communication && instruction.communication->kind == kind &&
        program.groups[instruction.communication->group.at()].kind == group) {
      bytes += instruction.communication->sent.value();
    }
  }
  return bytes;
}

std::int64_t bytes_of(const Role& role, MemoryCause cause, bool persistent) {
  std::int64_t bytes = 0;
  for (const Buffer& buffer : role.buffers) {
    bytes += buffer.cause == cause && buffer.persistent == persistent ? buffer.bytes.value() : 0;
  }
  return bytes;
}

std::int64_t elements_of(const Role& role) {
  std::int64_t elements = 0;
  for (const Bucket& bucket : role.buckets) {
    elements += bucket.elements;
  }
  return elements;
}

// Attention scores tiles of 64 rows against all that their last row sees, (s + 64)/2 keys a query instead of s/2, and
// makes 5 products backward, not 4: with both, 3.5/3 (1 + 64/s) of the formula's causal attention.
double attention_excess(const Plan& plan) {
  const double s = static_cast<double>(plan.training.sequence);
  const ModelSpec& m = plan.model;
  const double tokens = s * static_cast<double>(plan.training.global_batch);
  const std::int64_t layers = m.layers + m.multi_token_layers;
  const double forward = 4.0 * s / 2.0 * static_cast<double>(m.heads * m.head_size * layers) * tokens;
  return forward * (3.5 * (1.0 + 64.0 / s) - 3.0);
}

TEST(Layouts, EveryDenseLayoutComputesTheModelsFlopsAndNoMore) {
  for (const auto& [name, plan] : testing::plans_of_every_kind()) {
    if (plan.model.experts || is_gpt2_block(plan.model) || plan.layout.recompute == Recompute::kFull) {
      continue;
    }
    const double tokens = static_cast<double>(plan.training.global_batch * plan.training.sequence);
    const double formula =
        tokens * model_flops_per_token(plan.model, plan.training.sequence, AttentionConvention::kCausal).si();
    // Ranks of a context-parallel group tile their own pieces: at most 64 keys a query more or less.
    const double tolerance = plan.layout.context > 1 ? 0.02 : 1e-12;
    EXPECT_NEAR(flops_of(compile(plan)) / (formula + attention_excess(plan)), 1.0, tolerance) << name;
  }
}

TEST(Layouts, RankByRankAndStageByStageRolesAgree) {
  for (const auto& [name, plan] : testing::plans_of_every_kind()) {
    const Program exact = compile(plan);
    const Program merged = compile(plan, ProgramKind::kTraining, RoleDetail::kByStage);
    EXPECT_EQ(merged.roles.size(), static_cast<std::size_t>(plan.layout.pipeline)) << name;
    EXPECT_NEAR(flops_of(merged) / flops_of(exact), 1.0, 1e-12) << name;
    std::int64_t ranks = 0;
    for (const Role& role : merged.roles) {
      ranks += role.ranks;
      EXPECT_GE(merged.roles[merged.bindings[role.representative.at()].role.at()].ranks, 1) << name;
    }
    EXPECT_EQ(ranks, plan.layout.ranks()) << name;
  }
}

TEST(Layouts, GroupsPartitionTheRanksAndHaveTheirSize) {
  for (const auto& [name, plan] : testing::plans_of_every_kind()) {
    const Program program = compile(plan);
    for (const Group& group : program.groups) {
      if (group.kind == GroupKind::kEmbedding) {
        continue;  // of two stages only, where it is of a table
      }
      std::map<Rank, int> times;
      for (std::int64_t r = 0; r < program.mesh.ranks(); ++r) {
        const std::vector<Rank> members = group_members(program, group, Rank(r));
        ASSERT_EQ(members.size(), static_cast<std::size_t>(group.size)) << name << " " << to_string(group.kind);
        EXPECT_EQ(std::count(members.begin(), members.end(), Rank(r)), 1) << name;
        EXPECT_EQ(group_members(program, group, members.front()), members) << name << " " << to_string(group.kind);
      }
    }
  }
}

TEST(Layouts, ZeroStagesShareOutStateThenGradientsThenParameters) {
  // fp32 everywhere: of N elements a rank keeps 4N parameters, 4N gradients, 8N optimizer state; each stage shares out
  // one more of them over 4 ranks (Rajbhandari et al. 2020, figure 1). Shares end at blocks of 1024 elements.
  for (const int zero : {0, 1, 2, 3}) {
    Layout layout = base_layout();
    layout.data = 4;
    layout.zero_stage = zero;
    const Program program = compile(even_plan(even_model(), layout));
    for (const Role& role : program.roles) {
      const auto n = static_cast<double>(elements_of(role));
      const auto share = [&](bool cut) { return cut ? 0.25 : 1.0; };
      EXPECT_NEAR(static_cast<double>(bytes_of(role, MemoryCause::kParameters, true)), 4.0 * n * share(zero == 3),
                  0.1 * n);
      EXPECT_NEAR(static_cast<double>(bytes_of(role, MemoryCause::kGradients, true)), 4.0 * n * share(zero >= 2),
                  0.1 * n);
      EXPECT_NEAR(static_cast<double>(bytes_of(role, MemoryCause::kOptimizer, true)), 8.0 * n * share(zero >= 1),
                  0.2 * n);
      EXPECT_EQ(bytes_of(role, MemoryCause::kGathered, false) > 0, zero >= 2);
    }
  }
}

TEST(Layouts, ZeroThreeGathersTwiceAndScattersOnceAMicroBatch) {
  Layout layout = base_layout();
  layout.data = 4;
  layout.zero_stage = 3;
  const Program program = compile(even_plan(even_model(), layout), ProgramKind::kTraining, RoleDetail::kByStage);
  const Role& role = program.roles.front();
  // Forward and backward gather N elements, of which a rank sends 3/4; so much is scattered. The head's bucket, last in
  // forward and first in backward, is gathered for both.
  const double n = 4.0 * static_cast<double>(elements_of(role)) * 0.75 * 4.0;
  EXPECT_NEAR(static_cast<double>(sent(program, role, GroupKind::kData, CommunicationKind::kAllGather)), 2.0 * n,
              0.1 * n);
  EXPECT_NEAR(static_cast<double>(sent(program, role, GroupKind::kData, CommunicationKind::kReduceScatter)), n,
              0.04 * n);
}

TEST(Layouts, ZeroThreeHoldsTwoLayersGatheredAtATime) {
  Layout layout = base_layout();
  layout.data = 4;
  layout.zero_stage = 3;
  const Program program = compile(even_plan(even_model(), layout), ProgramKind::kTraining, RoleDetail::kByStage);
  const Role& role = program.roles.front();
  std::map<std::int64_t, std::int64_t> change;
  std::int64_t largest = 0;
  for (const Bucket& bucket : role.buckets) {
    largest = std::max(largest, 4 * bucket.elements);
  }
  for (const Buffer& buffer : role.buffers) {
    if (buffer.cause == MemoryCause::kGathered && buffer.content == BufferContent::kParameters) {
      change[buffer.first_use->value()] += buffer.bytes.value();
      change[buffer.last_use->value() + 1] -= buffer.bytes.value();
    }
  }
  std::int64_t held = 0, most = 0;
  for (const auto& [at, bytes] : change) {
    held += bytes;
    most = std::max(most, held);
  }
  EXPECT_LE(most, 2 * largest);
}

// The first bucket complete is the last layers', so that with overlap its reduction is under way while earlier layers
// still compute; without, none begins before the last weight gradient.
TEST(Layouts, WithoutOverlapReductionsWaitForTheLastWeightGradient) {
  for (const bool overlap : {true, false}) {
    Layout layout = base_layout();
    layout.data = 2;
    layout.overlap_gradient_reduce = overlap;
    const Program program = compile(even_plan(even_model(), layout), ProgramKind::kTraining, RoleDetail::kByStage);
    const std::vector<Instruction>& all = program.roles.front().instructions;
    const auto is = [](InstructionKind kind) { return [kind](const Instruction& i) { return i.kind == kind; }; };
    const auto first = std::find_if(all.begin(), all.end(), is(InstructionKind::kReduce));
    const auto last = std::find_if(all.rbegin(), all.rend(), is(InstructionKind::kBackwardWeight));
    ASSERT_NE(first, all.end());
    ASSERT_NE(last, all.rend());
    const bool waits = std::any_of(first->waits.begin(), first->waits.end(),
                                   [&](const Dependency& wait) { return wait.instruction == last->id; });
    EXPECT_EQ(waits, !overlap);
  }
}

TEST(Layouts, HybridShardingReducesItsShardsBetweenReplicas) {
  Layout layout = base_layout();
  layout.data = 8;
  layout.zero_stage = 3;
  layout.shard_group = 2;
  const Program program = compile(even_plan(even_model(), layout), ProgramKind::kTraining, RoleDetail::kByStage);
  const Role& role = program.roles.front();
  // Once a step, of the half that a rank holds: 2 (n-1)/n of it around 4 replicas.
  const double shard = 4.0 * static_cast<double>(elements_of(role)) / 2.0;
  EXPECT_NEAR(static_cast<double>(sent(program, role, GroupKind::kReplica, CommunicationKind::kAllReduce)), 1.5 * shard,
              0.04 * shard);
  EXPECT_EQ(sent(program, role, GroupKind::kData, CommunicationKind::kReduceScatter), 0);
}

TEST(Layouts, ContextParallelRanksPassTheirKeysAndValues) {
  // A block: keys and values of a rank's 128 tokens, 2 x 8 heads x 16, fp32; 8 layers, 4 micro-batches, 4 ranks.
  const std::int64_t block = 128 * 2 * 8 * 16 * 4;
  const std::int64_t times = 8 * 4;
  Layout layout = base_layout();
  layout.context = 4;
  const auto program_of = [&](ContextKind kind) {
    layout.context_kind = kind;
    return compile(even_plan(even_model(), layout), ProgramKind::kTraining, RoleDetail::kByStage);
  };
  const Program ring = program_of(ContextKind::kRing);
  // 3 hops forward; backward 2 more of blocks, as the third is at hand and the own one is, and 3 of gradients.
  EXPECT_EQ(sent(ring, ring.roles.front(), GroupKind::kContext, CommunicationKind::kSend), (3 + 2 + 3) * block * times);
  const Program gather = program_of(ContextKind::kAllGather);
  EXPECT_EQ(sent(gather, gather.roles.front(), GroupKind::kContext, CommunicationKind::kAllGather),
            2 * 3 * block * times);
  EXPECT_EQ(sent(gather, gather.roles.front(), GroupKind::kContext, CommunicationKind::kReduceScatter),
            3 * block * times);
  const Program ulysses = program_of(ContextKind::kUlysses);
  // Queries, keys and values out and back for their gradients, and once more for backward; outputs back, and their
  // gradients: 3 x 1.5 + 2 x 0.5 blocks, of which 3/4 leave.
  EXPECT_EQ(sent(ulysses, ulysses.roles.front(), GroupKind::kContext, CommunicationKind::kAllToAll),
            (9 * block / 2 + block) * 3 / 4 * times);
}

TEST(Layouts, ExpertsTokensGoThereAndBackInBothDirections) {
  Layout layout = base_layout();
  layout.data = 4;
  layout.expert = 4;
  const Program program = compile(even_plan(expert_model(), layout));
  const Role& role = program.roles.front();
  // 512 tokens, 2 experts each, 128 wide, fp32: 4 exchanges in 8 layers of 4 micro-batches; 3/4 of it leaves.
  EXPECT_EQ(sent(program, role, GroupKind::kExpert, CommunicationKind::kAllToAll),
            std::int64_t{512} * 2 * 128 * 4 * 4 * 8 * 4 * 3 / 4);
  // A quarter of the experts' weights: 8 x 3 x 128 x 64 a layer.
  std::int64_t experts = 0;
  for (const Bucket& bucket : role.buckets) {
    experts += bucket.experts ? bucket.elements : 0;
  }
  EXPECT_EQ(experts, 8 * (8 * 3 * 128 * 64) / 4);
  for (const Instruction& instruction : role.instructions) {
    if (instruction.communication && instruction.communication->kind == CommunicationKind::kAllToAll) {
      EXPECT_FALSE(instruction.communication->extent.exact);
      EXPECT_LE(instruction.communication->extent.expected, instruction.communication->extent.maximum);
    }
  }
}

TEST(Layouts, OneInSoManyLayersIsRunAgain) {
  Layout layout = base_layout();
  layout.recompute = Recompute::kFull;
  layout.recompute_every = 3;
  const Program program = compile(even_plan(even_model(), layout));
  std::set<int> again;
  for (const Instruction& instruction : program.roles.front().instructions) {
    if (instruction.kind == InstructionKind::kRecompute) {
      again.insert(*instruction.layer);
    }
  }
  EXPECT_EQ(again, (std::set<int>{0, 3, 6}));
}

TEST(Layouts, GivenLayersOfEachChunkAreThoseOfItsStage) {
  Layout layout = base_layout();
  layout.pipeline = 4;
  layout.chunk_layers = {0, 4, 3, 1};
  const Program program = compile(even_plan(even_model(), layout));
  std::vector<std::set<int>> layers(4);
  for (const Role& role : program.roles) {
    for (const Instruction& instruction : role.instructions) {
      if (instruction.layer) {
        layers[static_cast<std::size_t>(role.stage)].insert(*instruction.layer);
      }
    }
  }
  EXPECT_EQ(layers, (std::vector<std::set<int>>{{}, {0, 1, 2, 3}, {4, 5, 6}, {7}}));
}

TEST(Layouts, ATiedTableOfTwoStagesIsReducedBetweenThem) {
  Layout layout = base_layout();
  layout.pipeline = 2;
  ModelSpec model = even_model();
  model.tied_embeddings = true;
  const Program program = compile(even_plan(model, layout));
  for (const Role& role : program.roles) {
    EXPECT_EQ(sent(program, role, GroupKind::kEmbedding, CommunicationKind::kAllReduce), 512 * 128 * 4);
  }
}

// One table at both ends of a stage: shards are gathered for the embedding, given back, gathered again for the head,
// and once more for its backward; three times a micro-batch.
TEST(Layouts, ATiedTableInShardsIsGatheredForEachEnd) {
  for (const ScheduleKind schedule : {ScheduleKind::k1f1b, ScheduleKind::kDualPipe}) {
    Layout layout = base_layout();
    layout.data = 2;
    layout.zero_stage = 3;
    layout.accumulation = 4;
    layout.schedule = schedule;
    layout.pipeline = schedule == ScheduleKind::kDualPipe ? 2 : 1;
    layout.chunks_per_stage = schedule == ScheduleKind::kDualPipe ? 2 : 1;
    for (ModelSpec model : {even_model(), testing::gpt2_model()}) {
      model.tied_embeddings = true;
      const Program program = compile(even_plan(model, layout));
      const Role& role = program.roles.front();
      std::int64_t gathered = 0;
      for (const Instruction& instruction : role.instructions) {
        if (instruction.kind == InstructionKind::kGather && instruction.bucket) {
          const Bucket& bucket = role.buckets[instruction.bucket->at()];
          gathered += bucket.parameters.front().parameter.kind == ParameterKind::kEmbedding ? 1 : 0;
        }
      }
      EXPECT_EQ(gathered, 3 * (schedule == ScheduleKind::kDualPipe ? 2 : 4)) << describe(layout);
    }
  }
}

TEST(Layouts, DelayedWeightGradientsHoldMoreAndTheVLess) {
  // In flight at the worst stage, of a stage's share: 1F1B 4, H1 4 and the gradients that wait, H2 7, V 4 of twice
  // half as much.
  std::map<ScheduleKind, std::int64_t> peak;
  for (const ScheduleKind kind :
       {ScheduleKind::k1f1b, ScheduleKind::kZeroBubbleH1, ScheduleKind::kZeroBubbleH2, ScheduleKind::kZeroBubbleV}) {
    Layout layout = base_layout();
    layout.pipeline = 4;
    layout.accumulation = 16;
    layout.schedule = kind;
    layout.chunks_per_stage = kind == ScheduleKind::kZeroBubbleV ? 2 : 1;
    const Program program = compile(even_plan(even_model(), layout));
    for (const Role& role : program.roles) {
      peak[kind] = std::max(peak[kind], memory_profile(role).peak.value());
    }
  }
  EXPECT_GE(peak[ScheduleKind::kZeroBubbleH1], peak[ScheduleKind::k1f1b]);
  EXPECT_GT(static_cast<double>(peak[ScheduleKind::kZeroBubbleH2]),
            1.4 * static_cast<double>(peak[ScheduleKind::kZeroBubbleH1]));
  EXPECT_LT(peak[ScheduleKind::kZeroBubbleV], peak[ScheduleKind::kZeroBubbleH2]);
}

TEST(Layouts, WhatAProgramCannotExpressIsAnErrorWithAWayOut) {
  Layout offloads = base_layout();
  offloads.offload.activations = true;
  EXPECT_FALSE(error_of([&] { compile(even_plan(even_model(), offloads)); }).hint().empty());
  ModelSpec beside_experts = expert_model();
  beside_experts.parallel_branches = true;
  EXPECT_FALSE(error_of([&] { compile(even_plan(beside_experts, base_layout())); }).hint().empty());
}

}  // namespace
}  // namespace trainyard
