// Hand-made programs of a pipeline whose stages each do one forward and one backward per micro-batch: the
// smallest thing with a bubble, so that the step simulator can be compared with arithmetic.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "core/program/program.h"
#include "core/schedule/schedule.h"
#include "simulator/step/step_costs.h"

namespace trainyard::simulator {

// Appends instructions to a role, numbering them.
class RoleWriter {
 public:
  explicit RoleWriter(Role& role) : role_(role) {}

  InstructionId compute(InstructionKind kind, int microbatch, std::vector<InstructionId> waits = {}) {
    Instruction instruction;
    instruction.kind = kind;
    instruction.microbatch = microbatch;
    return add(std::move(instruction), std::move(waits));
  }

  InstructionId transfer(Stream stream, int peer_stage, int microbatch, std::vector<InstructionId> waits = {}) {
    const bool sends = stream == Stream::kSendForward || stream == Stream::kSendBackward;
    Instruction instruction;
    instruction.kind = sends ? InstructionKind::kSend : InstructionKind::kRecv;
    instruction.stream = stream;
    instruction.microbatch = microbatch;
    Communication communication;
    communication.kind = sends ? CommunicationKind::kSend : CommunicationKind::kRecv;
    communication.group = GroupId(2);
    communication.peer_stage = peer_stage;
    communication.tag = static_cast<std::uint64_t>(microbatch);
    communication.payload = ByteCount(1024);
    instruction.communication = communication;
    return add(std::move(instruction), std::move(waits));
  }

  InstructionId collective(Stream stream, GroupId group, std::vector<InstructionId> waits = {}) {
    Instruction instruction;
    instruction.kind = InstructionKind::kReduce;
    instruction.stream = stream;
    Communication communication;
    communication.group = group;
    communication.payload = ByteCount(4096);
    instruction.communication = communication;
    return add(std::move(instruction), std::move(waits));
  }

 private:
  InstructionId add(Instruction instruction, std::vector<InstructionId> waits) {
    instruction.id = InstructionId(static_cast<std::int64_t>(role_.instructions.size()));
    for (const InstructionId wait : waits) {
      instruction.waits.push_back({wait, 0});
    }
    role_.instructions.push_back(std::move(instruction));
    return role_.instructions.back().id;
  }
  Role& role_;
};

// Groups 0 tensor, 1 data, 2 pipeline; a role per stage and no instructions yet.
inline Program empty_program(int tensor, int data, int pipeline) {
  Layout layout;
  layout.tensor = tensor;
  layout.data = data;
  layout.pipeline = pipeline;
  Program program;
  program.hash = "toy";
  program.mesh = Mesh(layout);
  program.groups = {{GroupId(0), GroupKind::kTensor, tensor},
                    {GroupId(1), GroupKind::kData, data},
                    {GroupId(2), GroupKind::kPipeline, pipeline}};
  for (int stage = 0; stage < pipeline; ++stage) {
    Role role;
    role.id = RoleId(stage);
    role.stage = stage;
    role.representative = program.mesh.rank_at({.pipeline = stage});
    role.ranks = tensor * data;
    program.roles.push_back(std::move(role));
  }
  for (std::int64_t r = 0; r < program.mesh.ranks(); ++r) {
    program.bindings.push_back({RoleId(program.mesh.coordinates(Rank(r)).pipeline), 0});
  }
  return program;
}

inline Program toy_pipeline(ScheduleKind kind, int stages, int microbatches) {
  Program program = empty_program(1, 1, stages);
  for (int stage = 0; stage < stages; ++stage) {
    RoleWriter write(program.roles[static_cast<std::size_t>(stage)]);
    for (const Slot& slot : stage_schedule(kind, stages, stage, 1, microbatches)) {
      const int b = slot.microbatch;
      if (slot.kind == SlotKind::kForward) {
        std::vector<InstructionId> waits;
        if (stage > 0) {
          waits.push_back(write.transfer(Stream::kRecvForward, stage - 1, b));
        }
        const InstructionId done = write.compute(InstructionKind::kForward, b, waits);
        if (stage + 1 < stages) {
          write.transfer(Stream::kSendForward, stage + 1, b, {done});
        }
      } else if (slot.kind == SlotKind::kBackwardInput) {
        std::vector<InstructionId> waits;
        if (stage + 1 < stages) {
          waits.push_back(write.transfer(Stream::kRecvBackward, stage + 1, b));
        }
        const InstructionId done = write.compute(InstructionKind::kBackwardInput, b, waits);
        if (stage > 0) {
          write.transfer(Stream::kSendBackward, stage - 1, b, {done});
        }
      }
    }
  }
  return program;
}

// The same time for all of a kind; transfers and collectives take `communication`.
inline StepCosts uniform_costs(const Program& program, Nanoseconds forward, Nanoseconds backward,
                               Nanoseconds communication) {
  StepCosts costs;
  for (const Role& role : program.roles) {
    std::vector<Nanoseconds> work;
    for (const Instruction& instruction : role.instructions) {
      work.push_back(instruction.communication                             ? communication
                     : instruction.kind == InstructionKind::kBackwardInput ? backward
                                                                           : forward);
    }
    costs.work.push_back(std::move(work));
  }
  costs.overlap.assign(program.groups.size(), OverlapSlowdown{});
  return costs;
}

}  // namespace trainyard::simulator
