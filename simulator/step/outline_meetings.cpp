// What an OutlineExecution knows of its outline before any run: each stream's instructions in a row, and which of
// different roles meet: both sides of a transfer, all of a collective that joins stages.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "core/program/host_update.h"
#include "simulator/step/outline_execution.h"

namespace trainyard::simulator {

namespace {

constexpr auto kCompute = static_cast<std::size_t>(Stream::kCompute);

// Groups that join stages; members of the others have one role.
bool joins_roles(GroupKind kind) { return kind == GroupKind::kWorld || kind == GroupKind::kEmbedding; }

}  // namespace

OutlineExecution::OutlineExecution(const ProgramOutline& outline) : outline_(outline), roles_(outline.roles.size()) {
  std::vector<std::vector<std::uint32_t>> joining(roles_.size());  // collectives that join roles, from the last
  for (std::size_t r = 0; r < roles_.size(); ++r) {
    roles_[r].outline = &outline.roles[r];
    prepare(roles_[r], joining[r]);
  }
  meet_transfers();
  meet_collectives(joining);
}

void OutlineExecution::prepare(RoleState& role, std::vector<std::uint32_t>& joining) const {
  for (const Instruction& example : role.outline->examples->instructions) {
    Cost cost;
    cost.stream = static_cast<std::uint8_t>(example.stream);
    cost.on_host = updates_on_host(example);
    if (example.communication) {
      cost.group = static_cast<std::int16_t>(example.communication->group.value());
      cost.joins = joins_roles(outline_.frame.groups[example.communication->group.at()].kind);
    }
    role.costs.push_back(cost);
  }
  for (const OutlineTransfer& transfer : role.outline->transfers) {
    role.costs[role.outline->instructions[transfer.instruction].example].meets = true;
  }
  const std::size_t n = role.outline->instructions.size();
  role.next.resize(n);
  role.meeting.assign(n, kNone);
  role.compute.resize(n);
  role.first.fill(kNone);
  for (std::size_t i = n; i-- > 0;) {
    const Cost& cost = cost_of(role, static_cast<std::uint32_t>(i));
    std::uint32_t& head = role.first[cost.stream];
    role.next[i] = head;
    head = static_cast<std::uint32_t>(i);
    if (cost.joins) {
      joining.push_back(static_cast<std::uint32_t>(i));
    }
  }
  for (Cost& cost : role.costs) {
    cost.meets = cost.meets || cost.joins;
  }
}

void OutlineExecution::join(std::uint32_t meeting, Side side) {
  if (meeting >= meetings_.size()) {
    meetings_.resize(meeting + 1);
  }
  RoleState& role = roles_[side.role];
  const RoleOutline& outline = *role.outline;
  const std::uint32_t i = side.instruction;
  for (std::uint32_t w = i == 0 ? 0 : outline.instructions[i - 1].waits_end; w < outline.instructions[i].waits_end;
       ++w) {
    if (cost_of(role, outline.waits[w]).stream == kCompute) {
      side.computed = outline.waits[w];
    }
  }
  meetings_[meeting].sides.push_back(side);
  role.meeting[i] = meeting;
}

// Both sides carry the same tag.
void OutlineExecution::meet_transfers() {
  std::uint64_t tags = 0;
  for (const RoleState& role : roles_) {
    for (const OutlineTransfer& transfer : role.outline->transfers) {
      tags = std::max(tags, transfer.tag + 1);
    }
  }
  std::vector<std::uint32_t> meeting(tags, kNone);
  for (std::uint32_t r = 0; r < roles_.size(); ++r) {
    for (const OutlineTransfer& transfer : roles_[r].outline->transfers) {
      std::uint32_t& met = meeting[transfer.tag];
      if (met == kNone) {
        met = static_cast<std::uint32_t>(meetings_.size());
      }
      join(met, {r, transfer.instruction, kNone, kNever});
    }
  }
  for (const Meeting& met : meetings_) {
    check(met.sides.size() == 2, "a transfer has two sides");
  }
}

// The k-th collective that a role posts on a group meets the k-th of the others of it.
void OutlineExecution::meet_collectives(const std::vector<std::vector<std::uint32_t>>& joining) {
  std::map<std::tuple<std::int32_t, std::size_t, int>, std::uint32_t> known;  // group, its first role, k
  for (std::uint32_t r = 0; r < roles_.size(); ++r) {
    std::map<std::int32_t, int> posted;
    std::map<std::int32_t, std::size_t> first;
    for (auto i = joining[r].rbegin(); i != joining[r].rend(); ++i) {
      const std::int32_t id = cost_of(roles_[r], *i).group;
      const auto [entry, added] = first.try_emplace(id, 0);
      if (added) {
        entry->second = first_role(outline_.frame.groups[static_cast<std::size_t>(id)], r);
      }
      const auto [met, is_new] =
          known.try_emplace({id, entry->second, posted[id]++}, static_cast<std::uint32_t>(meetings_.size()));
      join(met->second, {r, *i, kNone, kNever});
    }
  }
}

// Of those that share the group with role r.
std::size_t OutlineExecution::first_role(const Group& group, std::uint32_t r) const {
  std::size_t first = r;
  if (group.kind == GroupKind::kWorld) {
    return 0;
  }
  for (const Rank rank : group_members(outline_.frame, group, roles_[r].outline->role.representative)) {
    first = std::min(first, outline_.frame.bindings[rank.at()].role.at());
  }
  return first;
}

}  // namespace trainyard::simulator
