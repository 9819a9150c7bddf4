#include "core/plan/trace_times.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace trainyard {
namespace {

constexpr Nanoseconds kUnset = -1;

bool is_transfer(const Communication& communication) {
  return communication.kind == CommunicationKind::kSend || communication.kind == CommunicationKind::kRecv;
}

Stream other_side(Stream stream) {
  switch (stream) {
    case Stream::kSendForward:
      return Stream::kRecvForward;
    case Stream::kRecvForward:
      return Stream::kSendForward;
    case Stream::kSendBackward:
      return Stream::kRecvBackward;
    case Stream::kRecvBackward:
      return Stream::kSendBackward;
    default:
      return stream;
  }
}

}  // namespace

Nanoseconds total_length(const std::vector<Interval>& intervals) {
  Nanoseconds sum = 0;
  for (const Interval& interval : intervals) {
    sum += interval.end - interval.begin;
  }
  return sum;
}

std::vector<Interval> united(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  std::vector<Interval> result;
  for (const Interval& interval : intervals) {
    if (!result.empty() && interval.begin <= result.back().end) {
      result.back().end = std::max(result.back().end, interval.end);
    } else {
      result.push_back(interval);
    }
  }
  return result;
}

Nanoseconds uncovered(Interval interval, const std::vector<Interval>& cover) {
  Nanoseconds left = interval.end - interval.begin;
  auto it = std::partition_point(cover.begin(), cover.end(),
                                 [&](const Interval& other) { return other.end <= interval.begin; });
  for (; it != cover.end() && it->begin < interval.end; ++it) {
    left -= std::min(it->end, interval.end) - std::max(it->begin, interval.begin);
  }
  return left;
}

Meetings::Meetings(const Program& program) : program_(program) {
  for (const Role& role : program.roles) {
    auto& lines = lines_.emplace_back();
    auto& occurrence = occurrence_.emplace_back(role.instructions.size(), 0);
    for (const Instruction& instruction : role.instructions) {
      if (instruction.communication) {
        const bool transfer = is_transfer(*instruction.communication);
        auto& line = lines[{transfer, transfer ? static_cast<std::int32_t>(instruction.stream)
                                               : instruction.communication->group.value()}];
        occurrence[instruction.id.at()] = line.size();
        line.push_back(instruction.id);
      }
    }
  }
}

InstructionId Meetings::of(Rank rank, InstructionId instruction, Rank other) const {
  const RoleId role = program_.bindings[rank.at()].role;
  const Instruction& own = program_.roles[role.at()].instructions[instruction.at()];
  const bool transfer = is_transfer(*own.communication);
  const Line line{transfer, !transfer       ? own.communication->group.value()
                            : other == rank ? static_cast<std::int32_t>(own.stream)
                                            : static_cast<std::int32_t>(other_side(own.stream))};
  const auto& theirs = lines_[program_.bindings[other.at()].role.at()];
  const auto found = theirs.find(line);
  const std::size_t k = occurrence_[role.at()][instruction.at()];
  check(found != theirs.end() && k < found->second.size(), "the members of a group post the same communications");
  return found->second[k];
}

std::vector<Rank> Meetings::members(Rank rank, InstructionId instruction) const {
  const Communication& communication = *program_.role_of(rank).instructions[instruction.at()].communication;
  std::vector<Rank> members = group_members(program_, program_.groups[communication.group.at()], rank);
  if (is_transfer(communication)) {
    return {rank, members[static_cast<std::size_t>(communication.peer_stage.value())]};
  }
  return members;
}

TraceTimes::TraceTimes(const Program& program, const Trace& trace) : program_(program), by_role_(trace.simulated) {
  if (by_role_) {
    for (const Role& role : program.roles) {
      times_.emplace_back(role.instructions.size(), Interval{kUnset, kUnset});
    }
  } else {
    for (const Binding& binding : program.bindings) {
      times_.emplace_back(program.roles[binding.role.at()].instructions.size(), Interval{kUnset, kUnset});
    }
  }
  for (const Slice& slice : trace.slices) {
    const std::size_t line = by_role_ ? slice.role.at() : slice.rank.at();
    if (line >= times_.size() || slice.instruction.at() >= times_[line].size()) {
      throw Error(fmt::format("rank {} has no instruction {}", slice.rank.value(), slice.instruction.value()),
                  fmt::format("trace of step {}", trace.step), "compare traces of the plan that was run");
    }
    if (slice.end > trace.duration) {
      throw Error(
          fmt::format("rank {} ends instruction {} after the step", slice.rank.value(), slice.instruction.value()),
          fmt::format("trace of step {}", trace.step), "trace a whole step");
    }
    if (!by_role_ && times_[line][slice.instruction.at()].begin != kUnset) {
      throw Error(fmt::format("rank {} has instruction {} twice", slice.rank.value(), slice.instruction.value()),
                  fmt::format("trace of step {}", trace.step), "trace one step");
    }
    times_[line][slice.instruction.at()] = {slice.begin, slice.end};
  }
  for (std::size_t line = 0; line < times_.size(); ++line) {
    const auto missing = std::find_if(times_[line].begin(), times_[line].end(),
                                      [](const Interval& interval) { return interval.begin == kUnset; });
    if (missing != times_[line].end()) {
      throw Error(
          fmt::format("{} {} lacks instruction {}", by_role_ ? "role" : "rank", line, missing - times_[line].begin()),
          fmt::format("trace of step {}", trace.step), "trace a whole step of every rank");
    }
  }
}

Interval TraceTimes::at(Rank rank, InstructionId instruction) const {
  const std::size_t line = by_role_ ? program_.bindings[rank.at()].role.at() : rank.at();
  return times_[line][instruction.at()];
}

}  // namespace trainyard
