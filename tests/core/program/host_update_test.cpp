// The optimizer in host memory, counted by hand: 8 layers of hidden size 128, 4 micro-batches of one sequence of 512.
#include "core/program/host_update.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/model/parameter.h"
#include "core/program/program.h"
#include "tests/core/program/layouts.h"

namespace trainyard {
namespace {

using testing::even_model;
using testing::even_plan;

// bf16 parameters on two ranks that share out the optimizer's state, in buckets of about a layer.
Layout two_ranks(int zero_stage) {
  Layout layout;
  layout.data = 2;
  layout.zero_stage = zero_stage;
  layout.accumulation = 4;
  layout.bucket_bytes = ByteCount(256 << 10);
  layout.parameter_type = DataType::kBf16;
  layout.offload.optimizer = true;
  return layout;
}

Program program_of(const Layout& layout) { return compile(even_plan(even_model(), layout)); }

bool is_copy(const Instruction& instruction) { return instruction.kind == InstructionKind::kOffload; }
bool goes_down(const Instruction& instruction) { return is_copy(instruction) && instruction.writes.empty(); }
bool goes_up(const Instruction& instruction) { return is_copy(instruction) && instruction.reads.empty(); }

std::int64_t bytes(const Role& role, bool (*which)(const Instruction&)) {
  std::int64_t sum = 0;
  for (const Instruction& instruction : role.instructions) {
    sum += which(instruction) ? instruction.work.bytes.value() : 0;
  }
  return sum;
}

bool waits(const Instruction& instruction, const Instruction& other) {
  return std::any_of(instruction.waits.begin(), instruction.waits.end(),
                     [&](const Dependency& wait) { return wait.step_offset == 0 && wait.instruction == other.id; });
}

// The one of a bucket.
const Instruction& of_bucket(const Role& role, const Bucket& bucket, bool (*which)(const Instruction&)) {
  const auto is = [&](const Instruction& i) { return i.bucket == bucket.id && which(i); };
  EXPECT_EQ(std::count_if(role.instructions.begin(), role.instructions.end(), is), 1);
  return *std::find_if(role.instructions.begin(), role.instructions.end(), is);
}

// Gradients are fp32, 4 bytes; parameters bf16, 2 bytes. Without ZeRO each rank copies and updates all of the model's;
// with it the two ranks have each number once between them.
TEST(HostUpdate, CopiesEachGradientDownAndEachParameterUpOnce) {
  const std::int64_t parameters = parameter_count(even_model());
  for (const int zero : {0, 1, 2, 3}) {
    const Program program = program_of(two_ranks(zero));
    std::int64_t down = 0, up = 0;
    for (const Binding& binding : program.bindings) {
      const Role& role = program.roles[binding.role.at()];
      down += bytes(role, goes_down);
      up += bytes(role, goes_up);
    }
    const std::int64_t copies = zero == 0 ? 2 : 1;
    EXPECT_EQ(down, copies * 4 * parameters) << "ZeRO " << zero;
    EXPECT_EQ(up, copies * 2 * parameters) << "ZeRO " << zero;
  }
}

TEST(HostUpdate, LeavesNoStateOnTheDevice) {
  for (const int zero : {0, 1, 3}) {
    Layout layout = two_ranks(zero);
    const Program program = program_of(layout);
    layout.offload.optimizer = false;
    const Program on_device = program_of(layout);
    for (std::size_t r = 0; r < program.roles.size(); ++r) {
      std::int64_t state = 0, state_on_device = 0;
      for (const Buffer& buffer : program.roles[r].buffers) {
        state += buffer.cause == MemoryCause::kOptimizer ? buffer.bytes.value() : 0;
      }
      for (const Buffer& buffer : on_device.roles[r].buffers) {
        state_on_device += buffer.cause == MemoryCause::kOptimizer ? buffer.bytes.value() : 0;
      }
      EXPECT_EQ(state, 0);
      EXPECT_GT(state_on_device, 0);
      EXPECT_EQ(on_device.roles[r].persistent_bytes - program.roles[r].persistent_bytes, ByteCount(state_on_device));
      EXPECT_EQ(on_device.roles[r].arena_bytes, program.roles[r].arena_bytes);
    }
  }
}

// Down waits for the bucket's reduction only; the update for its gradients on the host and for the norm of all; up for
// the update; the gather of the other rank's half for what came up.
TEST(HostUpdate, EachBucketWaitsForItsOwnAndForTheNorm) {
  const Program program = program_of(two_ranks(1));
  const Role& role = program.roles.front();
  ASSERT_GT(role.buckets.size(), 2U);
  const auto norm = std::find_if(role.instructions.begin(), role.instructions.end(),
                                 [](const Instruction& i) { return i.kind == InstructionKind::kNormReduce; });
  for (const Bucket& bucket : role.buckets) {
    const auto gathers = [](const Instruction& i) { return i.kind == InstructionKind::kGather; };
    const auto reduces = [](const Instruction& i) { return i.kind == InstructionKind::kReduce; };
    const Instruction& down = of_bucket(role, bucket, goes_down);
    const Instruction& update = of_bucket(role, bucket, updates_on_host);
    const Instruction& up = of_bucket(role, bucket, goes_up);
    EXPECT_EQ(down.stream, Stream::kHostCopy);
    EXPECT_EQ(up.stream, Stream::kHostCopy);
    ASSERT_EQ(down.waits.size(), 1U);
    EXPECT_TRUE(waits(down, of_bucket(role, bucket, reduces)));
    EXPECT_TRUE(waits(update, down));
    EXPECT_TRUE(waits(update, *norm));
    EXPECT_TRUE(waits(up, update));
    EXPECT_TRUE(waits(of_bucket(role, bucket, gathers), up));
  }
}

// The embedding's gradient is complete last, and no other waits behind it for its way down.
TEST(HostUpdate, GradientsGoDownInTheOrderInWhichTheyAreComplete) {
  const Program program = program_of(two_ranks(1));
  const Role& role = program.roles.front();
  std::vector<InstructionId> reductions;
  for (const Instruction& instruction : role.instructions) {
    if (goes_down(instruction)) {
      reductions.push_back(instruction.waits.front().instruction);
    }
  }
  ASSERT_EQ(reductions.size(), role.buckets.size());
  EXPECT_TRUE(std::is_sorted(reductions.begin(), reductions.end()));
}

}  // namespace
}  // namespace trainyard
