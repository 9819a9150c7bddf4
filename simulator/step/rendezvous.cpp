#include "simulator/step/rendezvous.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
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

struct Entry {
  Line line;
  std::uint32_t instruction = 0;
};

// One role's communications by line, in the order of the program within each.
using Entries = std::vector<Entry>;
using Run = std::span<const Entry>;

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

bool is_transfer(const Communication& communication) { return communication.peer_stage.has_value(); }

Entries collect_entries(const Role& role, std::uint32_t first) {
  Entries entries;
  for (const Instruction& instruction : role.instructions) {
    if (!instruction.communication) {
      continue;
    }
    const Communication& communication = *instruction.communication;
    const bool transfer = is_transfer(communication);
    const Line line{transfer, transfer ? static_cast<std::int32_t>(instruction.stream) : communication.group.value(),
                    transfer ? communication.tag : 0};
    entries.push_back({line, first + static_cast<std::uint32_t>(instruction.id.value())});
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.line < b.line; });
  return entries;
}

Run run_of(const Entries& entries, const Line& line) {
  struct ByLine {
    bool operator()(const Entry& entry, const Line& other) const { return entry.line < other; }
    bool operator()(const Line& other, const Entry& entry) const { return other < entry.line; }
  };
  const auto [first, last] = std::equal_range(entries.begin(), entries.end(), line, ByLine{});
  return {first, last};
}

Line opposite(const Line& line) {
  Line result = line;
  if (line.transfer) {
    result.index = static_cast<std::int32_t>(other_side(static_cast<Stream>(line.index)));
  }
  return result;
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
  if (table.at(program, a).communication->payload == table.at(program, b).communication->payload) {
    return;
  }
  check(false, "the two sides of a communication must carry as many bytes: role " + std::to_string(table.role[a]) +
                   " instruction " + std::to_string(a - table.first[table.role[a]]) + ", role " +
                   std::to_string(table.role[b]) + " instruction " + std::to_string(b - table.first[table.role[b]]));
}

using Meeting = std::pair<std::uint32_t, std::uint32_t>;  // (posted, who waits for it)

// Pairs one line of role r with the same line of each of its peers.
void meet(const Program& program, const InstructionTable& table, std::size_t r, Run own, std::size_t peer, Run theirs,
          std::vector<Meeting>& meetings) {
  if (theirs.size() != own.size()) {
    check(false, "roles " + std::to_string(r) + " and " + std::to_string(peer) +
                     " must post as many communications to each other");
  }
  for (std::size_t k = 0; k < own.size(); ++k) {
    check_meeting(program, table, own[k].instruction, theirs[k].instruction);
    meetings.emplace_back(theirs[k].instruction, own[k].instruction);
  }
}

std::vector<Meeting> find_meetings(const Program& program, const InstructionTable& table) {
  std::vector<Entries> entries;
  for (std::size_t r = 0; r < program.roles.size(); ++r) {
    entries.push_back(collect_entries(program.roles[r], table.first[r]));
  }
  std::vector<Meeting> meetings;
  for (std::size_t r = 0; r < program.roles.size(); ++r) {
    std::map<std::pair<GroupId, std::optional<int>>, std::vector<std::size_t>> peers;
    for (std::size_t next = 0; next < entries[r].size();) {
      const Run own = run_of(entries[r], entries[r][next].line);
      next += own.size();
      const Communication& example = *table.at(program, own.front().instruction).communication;
      const auto [known, added] = peers.try_emplace({example.group, example.peer_stage});
      if (added) {
        known->second = peer_roles(program, program.roles[r], example);
      }
      for (const std::size_t peer : known->second) {
        meet(program, table, r, own, peer, run_of(entries[peer], opposite(own.front().line)), meetings);
      }
    }
  }
  std::sort(meetings.begin(), meetings.end());
  return meetings;
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
  const std::vector<Meeting> meetings = find_meetings(program, table);
  offsets_.assign(table.size() + 1, 0);
  for (const auto& [posted, waiter] : meetings) {
    ++offsets_[posted + 1];
    ++others_[waiter];
    waiters_.push_back(waiter);
  }
  for (std::size_t i = 0; i < table.size(); ++i) {
    offsets_[i + 1] += offsets_[i];
  }
}

}  // namespace trainyard::simulator
