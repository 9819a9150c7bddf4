// InstructionPricer: how long each instruction of a program works, by a kernel cost and a communication cost.
//
// Equal segments of a program, and equal communications of a role, are priced once. Throws Error for a step of more
// than fifty years: a rate or a time of the machine's must be wrong.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "core/program/outline.h"
#include "core/program/program.h"
#include "simulator/compute/kernel_cost.h"
#include "simulator/step/communication_cost.h"

namespace trainyard::simulator {

class InstructionPricer {
 public:
  // host_link: between host and device, one direction; a program that offloads has no price without.
  InstructionPricer(const Program& program, const KernelCost& kernels, CommunicationCost& communications,
                    std::optional<BytesPerSecond> host_link = {})
      : program_(program), kernels_(kernels), communications_(communications), host_link_(host_link) {}

  // By instruction.
  std::vector<Nanoseconds> role(const Role& role);
  // By example; these stand for instructions of other stages too: groups and peers are the outline's own.
  std::vector<Nanoseconds> outlined(const RoleOutline& outline);

 private:
  void add_to_total(Nanoseconds work, Nanoseconds times);
  Nanoseconds compute(const Instruction& instruction);
  Nanoseconds on_host(const Instruction& instruction) const;
  Nanoseconds segment(SegmentId id, Pass pass, bool accumulate);
  Nanoseconds communication(const Role& role, const Communication& communication);

  const Program& program_;
  const KernelCost& kernels_;
  CommunicationCost& communications_;
  std::optional<BytesPerSecond> host_link_;
  Nanoseconds total_ = 0;
  std::map<std::tuple<SegmentId, Pass, bool>, Nanoseconds> segments_;
  // Of the role at work.
  std::map<std::tuple<CommunicationKind, CollectiveAlgorithm, GroupId, std::int64_t, std::int64_t, std::optional<int>>,
           Nanoseconds>
      known_;
};

// How many instructions each example of an outline stands for.
std::vector<std::int64_t> counts_of_examples(const RoleOutline& outline);

}  // namespace trainyard::simulator
