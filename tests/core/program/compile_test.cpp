#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/error.h"
#include "core/model/model_flops.h"
#include "core/model/parameter.h"
#include "core/program/arena.h"
#include "core/program/operands.h"
#include "core/program/program.h"
#include "tests/core/program/tiny_plan.h"

namespace trainyard {
namespace {

using testing::layouts_of;
using testing::tiny_plan;

std::vector<Layout> all_layouts() {
  std::vector<Layout> all;
  for (int ranks : {1, 2, 4, 8}) {
    const auto some = layouts_of(ranks);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

// reaches[i]: the instructions that have finished before i starts, by the order of streams and the waits.
std::vector<std::vector<bool>> happens_before(const Role& role) {
  const std::size_t n = role.instructions.size();
  std::vector<std::vector<bool>> before(n, std::vector<bool>(n, false));
  std::map<Stream, std::size_t> last;
  for (std::size_t i = 0; i < n; ++i) {
    const Instruction& instruction = role.instructions[i];
    std::vector<std::size_t> direct;
    if (const auto found = last.find(instruction.stream); found != last.end()) {
      direct.push_back(found->second);
    }
    for (const Dependency& wait : instruction.waits) {
      if (wait.step_offset == 0) {
        direct.push_back(wait.instruction.at());
      }
    }
    for (std::size_t j : direct) {
      before[i][j] = true;
      for (std::size_t k = 0; k < j; ++k) {
        before[i][k] = before[i][k] || before[j][k];
      }
    }
    last[instruction.stream] = i;
  }
  return before;
}

bool touches(const Instruction& instruction, BufferId id) {
  return std::count(instruction.reads.begin(), instruction.reads.end(), id) +
             std::count(instruction.writes.begin(), instruction.writes.end(), id) >
         0;
}

TEST(Compile, WaitsOnlyForEarlierInstructionsOfOtherStreams) {
  for (const Layout& layout : all_layouts()) {
    const Program program = compile(tiny_plan(layout));
    for (const Role& role : program.roles) {
      for (const Instruction& instruction : role.instructions) {
        for (const Dependency& wait : instruction.waits) {
          EXPECT_NE(role.instructions[wait.instruction.at()].stream, instruction.stream);
          if (wait.step_offset == 0) {
            EXPECT_LT(wait.instruction, instruction.id) << describe(layout);
          } else {
            EXPECT_EQ(wait.step_offset, -1);
          }
        }
      }
    }
  }
}

TEST(Compile, RolesPartitionTheRanks) {
  for (const Layout& layout : all_layouts()) {
    const Program program = compile(tiny_plan(layout));
    std::int64_t ranks = 0;
    for (const Role& role : program.roles) {
      ranks += role.ranks;
      EXPECT_EQ(program.bindings[role.representative.at()].role, role.id);
    }
    EXPECT_EQ(ranks, layout.ranks());
  }
}

// Two buffers that share memory: every touch of the one that came first is finished before the first touch of
// the other starts, whatever the streams do.
TEST(Arena, ReusesMemoryOnlyAfterItsLastTouch) {
  for (const Layout& layout : all_layouts()) {
    if (layout.ranks() > 4) {
      continue;
    }
    const Program program = compile(tiny_plan(layout));
    for (const Role& role : program.roles) {
      const auto before = happens_before(role);
      for (const Buffer& a : role.buffers) {
        for (const Buffer& b : role.buffers) {
          if (a.persistent || b.persistent || a.id == b.id || !(*a.first_use < *b.first_use)) {
            continue;
          }
          const bool overlap =
              a.arena_offset < b.arena_offset + b.bytes.value() && b.arena_offset < a.arena_offset + a.bytes.value();
          if (!overlap) {
            continue;
          }
          ASSERT_LT(*a.last_use, *b.first_use) << describe(layout);
          for (const Instruction& instruction : role.instructions) {
            if (touches(instruction, a.id)) {
              const bool same_stream = instruction.stream == role.instructions[b.first_use->at()].stream;
              ASSERT_TRUE(same_stream || before[b.first_use->at()][instruction.id.at()])
                  << describe(layout) << " " << to_string(a.content) << " then " << to_string(b.content);
            }
          }
        }
      }
      std::int64_t end = 0;
      for (const Buffer& buffer : role.buffers) {
        end = std::max(end, buffer.persistent ? 0 : buffer.arena_offset + buffer.bytes.value());
      }
      EXPECT_LE(end, role.arena_bytes.value());
    }
  }
}

// First-fit leaves some holes; more than a fifth would mean that the planner's memory is wrong in kind.
TEST(Arena, WastesLittleBeyondThePeakOfLiveBuffers) {
  for (const Layout& layout : all_layouts()) {
    const Program program = compile(tiny_plan(layout, 128));
    for (const Role& role : program.roles) {
      const ByteCount live = memory_profile(role).peak - role.persistent_bytes;
      EXPECT_GE(role.arena_bytes, live);
      EXPECT_LE(role.arena_bytes.quantity() / live.quantity(), 1.2) << describe(layout);
    }
  }
}

// Runs every rank's streams with no notion of time: an instruction runs when it heads its stream and its waits
// are done; a collective when all members have come to it, a send and its receive together.
class Rendezvous {
 public:
  explicit Rendezvous(const Program& program) : program_(program), ranks_(program.bindings.size()) {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const Role& role = program.role_of(Rank(static_cast<std::int64_t>(r)));
      ranks_[r].done.assign(role.instructions.size(), false);
      for (const Instruction& instruction : role.instructions) {
        ranks_[r].queues[instruction.stream].push_back(instruction.id.at());
        left_ += 1;
      }
    }
  }

  // Instructions that never ran.
  std::int64_t run() {
    while (pass()) {
    }
    return left_;
  }

 private:
  struct State {
    std::vector<bool> done;
    std::map<Stream, std::vector<std::size_t>> queues;
    std::map<Stream, std::size_t> next;
    std::map<std::int32_t, std::int64_t> collectives;  // done, by group
  };
  // group, sequence or tag, first rank of the group or of the pair, second of the pair
  using Key = std::tuple<int, std::int64_t, std::int32_t, std::int32_t>;

  const Instruction* head(std::size_t rank, Stream stream) {
    State& state = ranks_[rank];
    const auto& queue = state.queues[stream];
    if (state.next[stream] == queue.size()) {
      return nullptr;
    }
    const Instruction& instruction =
        program_.role_of(Rank(static_cast<std::int64_t>(rank))).instructions[queue[state.next[stream]]];
    const bool ready = std::all_of(instruction.waits.begin(), instruction.waits.end(), [&](const Dependency& wait) {
      return wait.step_offset != 0 || state.done[wait.instruction.at()];
    });
    return ready ? &instruction : nullptr;
  }

  void finish(std::size_t rank, const Instruction& instruction) {
    ranks_[rank].done[instruction.id.at()] = true;
    ranks_[rank].next[instruction.stream] += 1;
    left_ -= 1;
  }

  bool pass() {
    bool progress = false;
    std::map<Key, std::vector<std::pair<std::size_t, const Instruction*>>> meetings;
    std::map<Key, std::size_t> expected;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const Rank rank(static_cast<std::int64_t>(r));
      for (int s = 0; s < kStreams; ++s) {
        const Instruction* instruction = head(r, static_cast<Stream>(s));
        if (instruction == nullptr) {
          continue;
        }
        if (!instruction->communication) {
          finish(r, *instruction);
          progress = true;
          continue;
        }
        const Communication& c = *instruction->communication;
        const Group& group = program_.groups[c.group.at()];
        const auto members = group_members(program_, group, rank);
        if (c.peer_stage) {
          const Rank peer = members[static_cast<std::size_t>(*c.peer_stage)];
          const bool sends = c.kind == CommunicationKind::kSend;
          const Key key{-1, static_cast<std::int64_t>(c.tag), sends ? rank.value() : peer.value(),
                        sends ? peer.value() : rank.value()};
          meetings[key].push_back({r, instruction});
          expected[key] = 2;
        } else {
          const Key key{static_cast<int>(group.kind), ranks_[r].collectives[c.group.value()], members.front().value(),
                        0};
          meetings[key].push_back({r, instruction});
          expected[key] = members.size();
        }
      }
    }
    for (const auto& [key, present] : meetings) {
      if (present.size() != expected[key]) {
        continue;
      }
      const Communication& first = *present.front().second->communication;
      for (const auto& [rank, instruction] : present) {
        EXPECT_EQ(instruction->communication->payload, first.payload);
        if (!first.peer_stage) {
          EXPECT_EQ(instruction->communication->kind, first.kind);
          ranks_[rank].collectives[first.group.value()] += 1;
        }
        finish(rank, *instruction);
      }
      progress = true;
    }
    return progress;
  }

  const Program& program_;
  std::vector<State> ranks_;
  std::int64_t left_ = 0;
};

TEST(Compile, NoLayoutDeadlocksEvenWhenSendsWaitForTheirReceivers) {
  for (const Layout& layout : all_layouts()) {
    for (ProgramKind kind : {ProgramKind::kTraining, ProgramKind::kEvaluation}) {
      const Program program = compile(tiny_plan(layout), kind);
      EXPECT_EQ(Rendezvous(program).run(), 0) << describe(layout);
    }
  }
}

TEST(Compile, InterleavedChunksDontDeadlock) {
  for (int accumulation : {2, 4, 8}) {
    Layout layout;
    layout.pipeline = 2;
    layout.chunks_per_stage = 2;
    layout.schedule = ScheduleKind::kInterleaved;
    layout.accumulation = accumulation;
    const Program program = compile(tiny_plan(layout));
    EXPECT_EQ(Rendezvous(program).run(), 0);
  }
}

// One rank, no recomputation: every weight is in one forward and two backward products, 6 FLOPs a parameter
// and token. Attention tiles of 64 rows over 128 keys: tile 0 sees 64 keys, tile 1 sees 128, so
// 64*64 + 64*128 = 12288 scores a head, 2*2*d forward and 5*2*d backward each.
TEST(Compile, FlopsEqualTheFormula) {
  Layout layout;
  layout.micro_batch = 3;
  layout.accumulation = 2;
  const Plan plan = tiny_plan(layout, 128);
  const Program program = compile(plan);
  const std::int64_t tokens = 3 * 2 * 128;
  const std::int64_t products = 6 * matmul_parameter_count(plan.model) * tokens;
  const std::int64_t attention = 4 * (3 * 2) * 4 * 12288 * 16 * (2 * 2 + 5 * 2);
  EXPECT_EQ(volumes(program.roles.front()).flops.value(), products + attention);
}

// Splitting the work changes who does it, not how much: summed over ranks the FLOPs are those of one rank on
// the same batch. The vocabulary and the feed-forward split unevenly, and still add up.
TEST(Compile, FlopsOfAllRanksAddUpToOneRanks) {
  for (const Layout& layout : all_layouts()) {
    if (layout.recompute != Recompute::kNone) {
      continue;
    }
    const Program program = compile(tiny_plan(layout));
    std::int64_t total = 0;
    for (const Binding& binding : program.bindings) {
      total += volumes(program.roles[binding.role.at()]).flops.value();
    }
    Layout one;
    one.micro_batch = layout.micro_batch;
    one.accumulation = layout.accumulation * layout.data;
    EXPECT_EQ(total, volumes(compile(tiny_plan(one)).roles.front()).flops.value()) << describe(layout);
  }
}

// Ring or direct over two ranks: gradients once each way. All-reduce moves 2 (n-1)/n of the gradients on
// average over ranks: n = 2: exactly the parameters' bytes in total per rank.
TEST(Compile, DataParallelismMovesTheGradientsOnce) {
  Layout layout;
  layout.data = 4;
  const Plan plan = tiny_plan(layout);
  const Program program = compile(plan);
  std::int64_t sent = 0;
  for (const Binding& binding : program.bindings) {
    for (const Instruction& instruction : program.roles[binding.role.at()].instructions) {
      sent += instruction.kind == InstructionKind::kReduce ? instruction.communication->sent.value() : 0;
    }
  }
  // Summed over the ring: 2 (n-1) E.
  EXPECT_EQ(sent, 2 * 3 * parameter_count(plan.model) * 4);
}

TEST(Compile, ZeroShardsTheOptimizerStateWithoutPadding) {
  Layout layout;
  layout.data = 4;
  layout.zero_stage = 1;
  const Plan plan = tiny_plan(layout);
  const Program program = compile(plan);
  std::int64_t state = 0;
  for (const Binding& binding : program.bindings) {
    for (const Buffer& buffer : program.roles[binding.role.at()].buffers) {
      state += buffer.cause == MemoryCause::kOptimizer ? buffer.elements : 0;
    }
  }
  EXPECT_EQ(state, 2 * parameter_count(plan.model));
}

TEST(Compile, RefusesWhatAProgramCannotExpress) {
  Layout layout;
  layout.offload.parameters = true;
  EXPECT_THROW(compile(tiny_plan(layout)), Error);
  layout = {};
  layout.pipeline = 8;
  EXPECT_THROW(compile(tiny_plan(layout)), Error);
}

}  // namespace
}  // namespace trainyard
