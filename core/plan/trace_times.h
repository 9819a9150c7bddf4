// A trace by rank and instruction, and when the data of its communications moved.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/plan/trace.h"
#include "core/program/program.h"

namespace trainyard {

struct Interval {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
};

Nanoseconds total_length(const std::vector<Interval>& intervals);
// Sorted and disjoint.
std::vector<Interval> united(std::vector<Interval> intervals);
// The part of `interval` that a sorted, disjoint list doesn't cover.
Nanoseconds uncovered(Interval interval, const std::vector<Interval>& cover);

// Which instructions meet: the k-th collective of each member of a group, the k-th send in a direction and
// the k-th receive of the peer.
class Meetings {
 public:
  explicit Meetings(const Program& program);
  // The instruction of `other` that meets this one of `rank`.
  InstructionId of(Rank rank, InstructionId instruction, Rank other) const;
  // Ranks that meet in it, `rank` included.
  std::vector<Rank> members(Rank rank, InstructionId instruction) const;

 private:
  using Line = std::pair<bool, std::int32_t>;  // transfers by stream, collectives by group
  const Program& program_;
  std::vector<std::map<Line, std::vector<InstructionId>>> lines_;  // by role
  std::vector<std::vector<std::size_t>> occurrence_;               // by role, by instruction
};

// Times by rank (or, of a simulated trace, by the rank that stands for its role) and instruction.
class TraceTimes {
 public:
  // Throws Error where the trace lacks an instruction of a rank.
  TraceTimes(const Program& program, const Trace& trace);
  Interval at(Rank rank, InstructionId instruction) const;

 private:
  const Program& program_;
  bool by_role_;
  std::vector<std::vector<Interval>> times_;
};

}  // namespace trainyard
