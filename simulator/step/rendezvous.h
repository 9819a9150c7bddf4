// Rendezvous: which instructions of which roles meet in a communication.
//
// One representative rank stands for each role. The members of its group have roles too; the k-th collective
// that a role posts on a group meets the k-th of each of those roles, and a send the receive of the peer's role
// that carries its tag. A role's own view may differ from its peers' (roles of unlike
// ranks merge), so that each side is listed apart: an instruction begins when all that it meets are posted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/program/program.h"

namespace trainyard::simulator {

// Instructions of all roles, numbered through: role r's instruction i is first[r] + i.
struct InstructionTable {
  explicit InstructionTable(const Program& program);
  std::size_t size() const { return role.size(); }
  const Instruction& at(const Program& program, std::uint32_t index) const {
    return program.roles[role[index]].instructions[index - first[role[index]]];
  }
  std::vector<std::uint32_t> first;  // by role
  std::vector<std::uint32_t> role;   // by instruction
};

class Rendezvous {
 public:
  // Checks that both sides of each transfer carry as many bytes, and that no peer posts fewer.
  Rendezvous(const Program& program, const InstructionTable& table);

  // How many others an instruction waits to be posted; and the instructions that wait for it.
  std::uint32_t others(std::uint32_t instruction) const { return others_[instruction]; }
  std::span<const std::uint32_t> waiting_for(std::uint32_t instruction) const {
    return {waiters_.data() + offsets_[instruction], offsets_[instruction + 1] - offsets_[instruction]};
  }

 private:
  std::vector<std::uint32_t> others_;
  std::vector<std::uint32_t> offsets_;
  std::vector<std::uint32_t> waiters_;
};

}  // namespace trainyard::simulator
