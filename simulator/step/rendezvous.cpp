#include "simulator/step/rendezvous.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/error.h"

namespace trainyard::simulator {
namespace {

// Communications of one role that are met in order: a group's collectives, or the one transfer of a tag on a
// pipeline stream.
struct Line {
  bool transfer = false;
  std::int32_t index = 0;  // GroupId, or Stream
  std::uint64_t tag = 0;   // of a transfer
  friend auto operator<=>(const Line&, const Line&) = default;
};

struct LineKey {
  std::size_t role = 0;
  Line line;
  friend auto operator<=>(const LineKey&, const LineKey&) = default;
};

using Lines = std::map<LineKey, std::vector<std::uint32_t>>;

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
      check(false, "a transfer must be on a pipeline stream");
      return stream;
  }
}

bool is_transfer(const Communication& communication) {
  return communication.kind == CommunicationKind::kSend || communication.kind == CommunicationKind::kRecv;
}

Lines collect_lines(const Program& program, const InstructionTable& table) {
  Lines lines;
  for (std::size_t r = 0; r < program.roles.size(); ++r) {
    for (std::size_t i = 0; i < program.roles[r].instructions.size(); ++i) {
      const Instruction& instruction = program.roles[r].instructions[i];
      if (!instruction.communication) {
        continue;
      }
      const bool transfer = is_transfer(*instruction.communication);
      const Line line{
          transfer, transfer ? static_cast<std::int32_t>(instruction.stream) : instruction.communication->group.value(),
          transfer ? instruction.communication->tag : 0};
      lines[{r, line}].push_back(table.first[r] + static_cast<std::uint32_t>(i));
    }
  }
  return lines;
}

// The roles that `role` meets on a line, itself left out unless it meets another rank of its own.
std::vector<std::size_t> peer_roles(const Program& program, const Role& role, const Communication& communication) {
  const Group& group = program.groups[communication.group.at()];
  std::set<std::size_t> roles;
  if (group.kind == GroupKind::kWorld) {
    for (std::size_t r = 0; r < program.roles.size(); ++r) {
      roles.insert(r);
    }
  } else {
    const std::vector<Rank> members = group_members(program, group, role.representative);
    if (is_transfer(communication)) {
      const Rank peer = members.at(static_cast<std::size_t>(communication.peer_stage.value()));
      return {program.bindings[peer.at()].role.at()};
    }
    for (const Rank member : members) {
      roles.insert(program.bindings[member.at()].role.at());
    }
  }
  roles.erase(role.id.at());
  return {roles.begin(), roles.end()};
}

void check_meeting(const Program& program, const InstructionTable& table, std::uint32_t a, std::uint32_t b) {
  check(table.at(program, a).communication->payload == table.at(program, b).communication->payload,
        "the two sides of a communication must carry as many bytes: role " + std::to_string(table.role[a]) +
            " instruction " + std::to_string(a - table.first[table.role[a]]) + ", role " +
            std::to_string(table.role[b]) + " instruction " + std::to_string(b - table.first[table.role[b]]));
}

}  // namespace

InstructionTable::InstructionTable(const Program& program) {
  std::uint32_t next = 0;
  for (std::size_t r = 0; r < program.roles.size(); ++r) {
    first.push_back(next);
    next += static_cast<std::uint32_t>(program.roles[r].instructions.size());
    role.insert(role.end(), program.roles[r].instructions.size(), static_cast<std::uint32_t>(r));
  }
}

Rendezvous::Rendezvous(const Program& program, const InstructionTable& table) : others_(table.size(), 0) {
  const Lines lines = collect_lines(program, table);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> meetings;  // (posted, who waits for it)
  for (const auto& [key, own] : lines) {
    const Role& role = program.roles[key.role];
    const Communication& example = *table.at(program, own.front()).communication;
    const Line line{
        key.line.transfer,
        key.line.transfer ? static_cast<std::int32_t>(other_side(static_cast<Stream>(key.line.index))) : key.line.index,
        key.line.tag};
    for (const std::size_t peer : peer_roles(program, role, example)) {
      const auto theirs = lines.find({peer, line});
      check(theirs != lines.end() && theirs->second.size() == own.size(),
            "roles " + std::to_string(key.role) + " and " + std::to_string(peer) +
                " must post as many communications to each other");
      for (std::size_t k = 0; k < own.size(); ++k) {
        check_meeting(program, table, own[k], theirs->second[k]);
        meetings.emplace_back(theirs->second[k], own[k]);
        ++others_[own[k]];
      }
    }
  }
  std::sort(meetings.begin(), meetings.end());
  offsets_.assign(table.size() + 1, 0);
  for (const auto& [posted, waiter] : meetings) {
    ++offsets_[posted + 1];
    waiters_.push_back(waiter);
  }
  for (std::size_t i = 0; i < table.size(); ++i) {
    offsets_[i + 1] += offsets_[i];
  }
}

}  // namespace trainyard::simulator
