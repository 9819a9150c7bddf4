#include "simulator/step/simulate_step.h"

#include <gtest/gtest.h>

#include <thread>

#include "simulator/planner/summary_price.h"
#include "tests/simulator/support/toy_pipeline.h"

namespace trainyard::simulator {
namespace {

constexpr Nanoseconds kForwardTime = 1000;
constexpr Nanoseconds kBackwardTime = 2000;

// Narayanan et al. 2021, section 2.2: m micro-batches through p equal stages take (m + p - 1)(tf + tb), by
// either schedule, when transfers are free.
TEST(SimulateStep, EqualStagesTakeMPlusPMinus1Slots) {
  for (const ScheduleKind kind : {ScheduleKind::kGpipe, ScheduleKind::k1f1b}) {
    for (const int stages : {1, 2, 3, 4, 8}) {
      for (const int microbatches : {1, 2, 4, 7, 16}) {
        const Program program = toy_pipeline(kind, stages, microbatches);
        const StepResult result = simulate_step(program, uniform_costs(program, kForwardTime, kBackwardTime, 0));
        EXPECT_EQ(result.duration, (microbatches + stages - 1) * (kForwardTime + kBackwardTime))
            << stages << " stages, " << microbatches << " micro-batches";
      }
    }
  }
}

// Busy time of a stage is m (tf + tb); the rest of the step it waits: (p - 1)(tf + tb).
TEST(SimulateStep, TheBubbleIsWaitingTime) {
  const Program program = toy_pipeline(ScheduleKind::k1f1b, 4, 8);
  const StepResult result = simulate_step(program, uniform_costs(program, kForwardTime, kBackwardTime, 0));
  for (const RoleTimes& times : result.roles) {
    EXPECT_EQ(times.compute, 8 * (kForwardTime + kBackwardTime));
    EXPECT_EQ(times.exposed_communication, 0);
    EXPECT_EQ(times.waiting, 3 * (kForwardTime + kBackwardTime));
  }
}

// With transfers of x, each round trip of the pipeline costs 2 (p-1) x per p
// micro-batches: the closed form's period, see summary_price.h.
TEST(SimulateStep, ClosedFormOfThePipelineMatchesWithTransfers) {
  for (const ScheduleKind kind : {ScheduleKind::kGpipe, ScheduleKind::k1f1b}) {
    for (const int stages : {2, 3, 4, 8}) {
      for (const Nanoseconds transfer : {100, 400}) {
        const int microbatches = 32;
        const Program program = toy_pipeline(kind, stages, microbatches);
        const StepResult result = simulate_step(program, uniform_costs(program, kForwardTime, kBackwardTime, transfer));
        const Seconds closed = pipeline_time(
            std::vector<Seconds>(static_cast<std::size_t>(stages), to_seconds(kForwardTime + kBackwardTime)),
            to_seconds(transfer), microbatches, kind);
        EXPECT_NEAR(static_cast<double>(result.duration), static_cast<double>(to_nanoseconds(closed)),
                    0.03 * static_cast<double>(result.duration))
            << to_string(kind) << " " << stages << " stages, transfer " << transfer;
      }
    }
  }
}

TEST(SimulateStep, LongerKernelsAndTransfersNeverShortenAStep) {
  const Program program = toy_pipeline(ScheduleKind::k1f1b, 4, 6);
  const StepCosts base = uniform_costs(program, kForwardTime, kBackwardTime, 300);
  const Nanoseconds before = simulate_step(program, base).duration;
  for (std::size_t role = 0; role < base.work.size(); ++role) {
    for (std::size_t i = 0; i < base.work[role].size(); ++i) {
      StepCosts costs = base;
      costs.work[role][i] += 500;
      EXPECT_GE(simulate_step(program, costs).duration, before);
    }
  }
}

// One role, compute and a collective side by side from time 0: 1000 ns of compute at rate 1/2 beside 600 ns
// of data at rate 1/1.5. The data takes 900, in which compute does 450; the other 550 follow: 1450.
TEST(SimulateStep, OverlapSlowsBothByTheirRates) {
  Program program = empty_program(1, 2, 1);
  RoleWriter write(program.roles[0]);
  write.compute(InstructionKind::kForward, 0);
  write.collective(Stream::kData, GroupId(1));
  StepCosts costs = uniform_costs(program, 1000, 1000, 600);
  costs.overlap[1] = {2, 2.0, 1.5};
  const StepResult result = simulate_step(program, costs);
  EXPECT_EQ(result.duration, 1450);
  const auto data = static_cast<std::size_t>(InstructionKind::kReduce);
  EXPECT_EQ(result.roles[0].busy[data], 900);
  EXPECT_EQ(result.roles[0].exposed_communication, 0);
}

// The closed form of the same thing.
TEST(Overlapped, MatchesTheRates) {
  const OverlapSlowdown slowdown{2, 2.0, 1.5};
  EXPECT_NEAR(overlapped(from_si<Seconds>(1000), from_si<Seconds>(600), slowdown).si(), 1450, 1e-9);
  // Compute done first: 100 at rate 1/2 takes 200, data does 133.3 of 600; 466.7 follow.
  EXPECT_NEAR(overlapped(from_si<Seconds>(100), from_si<Seconds>(600), slowdown).si(), 200 + 600 - 200 / 1.5, 1e-9);
}

// Each instruction pays its overhead; an instruction that waited for another stream, the handover.
TEST(SimulateStep, OverheadAndHandoverAreOnThePath) {
  Program program = empty_program(1, 2, 1);
  RoleWriter write(program.roles[0]);
  const InstructionId first = write.compute(InstructionKind::kForward, 0);
  const InstructionId reduce = write.collective(Stream::kData, GroupId(1), {first});
  write.compute(InstructionKind::kForward, 1, {reduce});
  StepCosts costs = uniform_costs(program, 1000, 1000, 600);
  costs.instruction_overhead = 10;
  costs.stream_handover = 7;
  EXPECT_EQ(simulate_step(program, costs).duration, (10 + 1000) + 7 + (10 + 600) + 7 + (10 + 1000));
}

// A collective moves data once its last member has come, and both end together: 5000 + 600.
TEST(SimulateStep, ACollectiveStartsWithItsLastMember) {
  Program program = empty_program(2, 1, 1);
  program.roles.push_back(program.roles[0]);  // tensor index 1 gets a role of its own
  program.roles[1].id = RoleId(1);
  program.roles[1].representative = Rank(1);
  program.bindings[1].role = RoleId(1);
  for (Role& role : program.roles) {
    RoleWriter write(role);
    const InstructionId done = write.compute(InstructionKind::kForward, 0);
    write.collective(Stream::kTensor, GroupId(0), {done});
  }
  StepCosts costs = uniform_costs(program, 1000, 1000, 600);
  costs.work[1][0] = 5000;
  const StepResult result = simulate_step(program, costs);
  EXPECT_EQ(result.duration, 5600);
  EXPECT_EQ(result.roles[0].waiting, 4000);
  EXPECT_EQ(result.roles[0].exposed_communication, 600);
}

TEST(SimulateStep, TracesAreEqualInTwoThreadsAndTwice) {
  const Program program = toy_pipeline(ScheduleKind::k1f1b, 4, 16);
  StepCosts costs = uniform_costs(program, kForwardTime, kBackwardTime, 137);
  costs.overlap[2] = {2, 1.37, 1.21};
  costs.stream_handover = 3;
  std::vector<StepResult> results(3);
  std::thread first([&] { results[0] = simulate_step(program, costs); });
  std::thread second([&] { results[1] = simulate_step(program, costs); });
  first.join();
  second.join();
  results[2] = simulate_step(program, costs);
  for (int other : {1, 2}) {
    const Trace& a = results[0].trace;
    const Trace& b = results[static_cast<std::size_t>(other)].trace;
    ASSERT_EQ(a.slices.size(), b.slices.size());
    for (std::size_t i = 0; i < a.slices.size(); ++i) {
      EXPECT_EQ(a.slices[i].begin, b.slices[i].begin);
      EXPECT_EQ(a.slices[i].end, b.slices[i].end);
      EXPECT_EQ(a.slices[i].instruction, b.slices[i].instruction);
    }
  }
}

TEST(SimulateStep, SlicesAreByRankThenBegin) {
  const Program program = toy_pipeline(ScheduleKind::k1f1b, 3, 4);
  const Trace trace = simulate_step(program, uniform_costs(program, 10, 20, 1)).trace;
  std::size_t instructions = 0;
  for (const Role& role : program.roles) {
    instructions += role.instructions.size();
  }
  ASSERT_EQ(trace.slices.size(), instructions);
  for (std::size_t i = 1; i < trace.slices.size(); ++i) {
    const Slice& a = trace.slices[i - 1];
    const Slice& b = trace.slices[i];
    EXPECT_TRUE(a.rank < b.rank || (a.rank == b.rank && a.begin <= b.begin));
  }
}

// Two ranks that each receive before they send wait for each other.
TEST(SimulateStepDeathTest, ADeadlockNamesWhoWaits) {
  Program program = empty_program(1, 1, 2);
  RoleWriter first(program.roles[0]);
  const InstructionId got_first = first.transfer(Stream::kRecvBackward, 1, 0);
  first.transfer(Stream::kSendForward, 1, 0, {got_first});
  RoleWriter second(program.roles[1]);
  const InstructionId got_second = second.transfer(Stream::kRecvForward, 0, 0);
  second.transfer(Stream::kSendBackward, 0, 0, {got_second});
  EXPECT_DEATH(simulate_step(program, uniform_costs(program, 1, 1, 1)), "role 0 instruction 0 recv on recv_backward");
}

}  // namespace
}  // namespace trainyard::simulator
