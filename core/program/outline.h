// ProgramOutline: a training step's instructions without their operands, for simulations of thousands of ranks.
//
// Of an instruction it keeps the stream, what it does, as one of a few examples, and what it waits for. Micro-batches
// between the first and the last do the same in every chunk, and so do stages whose chunks are alike: their
// instructions are generated once (stage_template.h) and written out by the schedule of each stage. Waits, transfers
// and the arena's places are those of compile(plan, kTraining, kByStage), instruction by instruction (a test compares
// them); the cost is O(instructions) with a small constant, 0.1 us each and 12 bytes, where a whole program takes 3 us
// and 500 bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/program/program.h"

namespace trainyard {

struct OutlineInstruction {
  std::uint32_t example = 0;    // into the examples' instructions
  std::uint32_t waits_end = 0;  // its waits are those from the end of the instruction's before it
};

// A send or a receive.
struct OutlineTransfer {
  std::uint32_t instruction = 0;
  int peer_stage = 0;
  std::uint64_t tag = 0;
};

struct RoleOutline {
  // Of the role itself, stage, chunks, representative and ranks; its instructions and buffers are left out.
  Role role;
  std::shared_ptr<const Role> examples;
  std::vector<OutlineInstruction> instructions;  // in issue order
  std::vector<std::uint32_t> waits;              // instructions of this step, on other streams
  std::vector<OutlineTransfer> transfers;        // by instruction
  ByteCount arena_bytes;
  ByteCount persistent_bytes;
  ByteCount peak;  // and by cause: as memory_profile() has it
  std::vector<ByteCount> peak_by_cause = std::vector<ByteCount>(kMemoryCauses);

  const Instruction& example(std::size_t i) const { return examples->instructions[instructions[i].example]; }
};

struct ProgramOutline {
  Program frame;  // groups, mesh, segments, bindings; roles without instructions
  std::vector<RoleOutline> roles;
};

// Throws Error as compile() does.
ProgramOutline outline(const Plan& plan);

// Of a whole program: the same, with an example for each instruction.
ProgramOutline outline(const Program& program);
// Without a copy of the roles, which must outlive it, and without the peak.
ProgramOutline outline_view(const Program& program);

}  // namespace trainyard
