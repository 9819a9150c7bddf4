#include "simulator/step/outline_execution.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "core/error.h"

namespace trainyard::simulator {

namespace {

constexpr auto kCompute = static_cast<std::size_t>(Stream::kCompute);

// Groups that join stages; members of the others have one role.
bool joins_roles(GroupKind kind) { return kind == GroupKind::kWorld || kind == GroupKind::kEmbedding; }

}  // namespace

OutlineExecution::OutlineExecution(const ProgramOutline& outline, const OutlineCosts& costs)
    : outline_(outline), costs_(costs), roles_(outline.roles.size()) {
  for (std::size_t r = 0; r < roles_.size(); ++r) {
    roles_[r].outline = &outline.roles[r];
    prepare(outline.roles[r], costs.work[r]);
  }
  meet_transfers();
  meet_collectives();
}

void OutlineExecution::prepare(const RoleOutline& outline, const std::vector<Nanoseconds>& work) {
  RoleState& role = roles_[static_cast<std::size_t>(&outline - outline_.roles.data())];
  check(work.size() == outline.examples->instructions.size(), "every example needs a cost");
  for (std::size_t e = 0; e < work.size(); ++e) {
    const Instruction& example = outline.examples->instructions[e];
    Cost cost{work[e], -1, static_cast<std::uint8_t>(example.stream), false, false};
    if (example.communication) {
      const OverlapSlowdown& slowdown = costs_.overlap[example.communication->group.at()];
      cost.group = static_cast<std::int16_t>(example.communication->group.value());
      cost.slows = slowdown.compute > 1.0 || slowdown.communication > 1.0;
      cost.joins = joins_roles(outline_.frame.groups[example.communication->group.at()].kind);
    }
    role.costs.push_back(cost);
  }
  const std::size_t n = outline.instructions.size();
  role.next.assign(n, kNone);
  role.meeting.assign(n, kNone);
  role.ended.assign(n, false);
  for (std::size_t i = n; i-- > 0;) {
    const Cost& cost = cost_of(role, static_cast<std::uint32_t>(i));
    Head& head = role.heads[cost.stream];
    role.next[i] = head.instruction;
    head.instruction = static_cast<std::uint32_t>(i);
    if (cost.joins) {
      role.joining.push_back(static_cast<std::uint32_t>(i));
    }
  }
}

void OutlineExecution::join(std::uint32_t meeting, Side side) {
  if (meeting >= meetings_.size()) {
    meetings_.resize(meeting + 1);
  }
  Meeting& met = meetings_[meeting];
  met.sides.push_back(side);
  ++met.unposted;
  ++met.unmoved;
  roles_[side.role].meeting[side.instruction] = meeting;
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
      join(met, {r, transfer.instruction});
    }
  }
  for (const Meeting& met : meetings_) {
    check(met.sides.size() == 2, "a transfer has two sides");
  }
}

// The k-th collective that a role posts on a group meets the k-th of the others of it.
void OutlineExecution::meet_collectives() {
  std::map<std::tuple<std::int32_t, std::size_t, int>, std::uint32_t> known;  // group, its first role, k
  for (std::uint32_t r = 0; r < roles_.size(); ++r) {
    std::map<std::int32_t, int> posted;
    std::map<std::int32_t, std::size_t> first;
    for (auto i = roles_[r].joining.rbegin(); i != roles_[r].joining.rend(); ++i) {
      const std::int32_t id = cost_of(roles_[r], *i).group;
      const auto [entry, added] = first.try_emplace(id, 0);
      if (added) {
        entry->second = first_role(outline_.frame.groups[static_cast<std::size_t>(id)], r);
      }
      const auto [met, is_new] =
          known.try_emplace({id, entry->second, posted[id]++}, static_cast<std::uint32_t>(meetings_.size()));
      join(met->second, {r, *i});
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

Nanoseconds OutlineExecution::run() {
  for (std::uint32_t r = 0; r < roles_.size(); ++r) {
    release(r, (1U << kStreams) - 1, 0);
  }
  while (true) {
    if (!later_.empty() && later_.top().time == now_) {
      const Event event = later_.top();
      later_.pop();
      handle(event);
    } else if (handled_ < due_.size()) {
      const Event event = due_[handled_++];
      handle(event);
    } else if (!later_.empty()) {
      due_.clear();
      handled_ = 0;
      now_ = later_.top().time;
    } else {
      break;
    }
  }
  for (const RoleState& role : roles_) {
    if (role.done != role.outline->instructions.size()) {
      check(false, "the step cannot finish; waiting: " + waiting());
    }
  }
  return last_;
}

void OutlineExecution::push(Nanoseconds time, std::uint32_t r, std::size_t stream, EventKind kind) {
  const Event event{time, sequence_++, r, roles_[r].heads[stream].generation, static_cast<std::uint8_t>(stream), kind};
  if (time == now_) {
    due_.push_back(event);
  } else {
    later_.push(event);
  }
}

void OutlineExecution::handle(const Event& event) {
  if (event.kind == EventKind::kBegin) {
    begin(event.role, event.stream, event.time);
  } else if (event.generation == roles_[event.role].heads[event.stream].generation) {
    finish(event.role, event.stream, event.time);
  }
}
bool OutlineExecution::is_ready(RoleState& role, std::size_t stream) {
  Head& head = role.heads[stream];
  head.waits_for = kNone;
  const std::uint32_t i = head.instruction;
  if (i == kNone) {
    return false;
  }
  const std::vector<OutlineInstruction>& instructions = role.outline->instructions;
  for (std::uint32_t w = i == 0 ? 0 : instructions[i - 1].waits_end; w < instructions[i].waits_end; ++w) {
    if (!role.ended[role.outline->waits[w]]) {
      head.waits_for = role.outline->waits[w];
      return false;
    }
  }
  return true;
}

// The next instructions of these streams, by bit, as far as they wait for nothing more; in the program's order.
void OutlineExecution::release(std::uint32_t r, std::uint32_t streams, Nanoseconds now) {
  RoleState& role = roles_[r];
  std::array<std::size_t, kStreams> ready{};
  std::size_t count = 0;
  for (std::size_t stream = 0; stream < kStreams; ++stream) {
    if ((streams >> stream & 1U) == 0 || !is_ready(role, stream)) {
      continue;
    }
    std::size_t at = count++;
    for (; at > 0 && role.heads[ready[at - 1]].instruction > role.heads[stream].instruction; --at) {
      ready[at] = ready[at - 1];
    }
    ready[at] = stream;
  }
  for (std::size_t i = 0; i < count; ++i) {
    push(now, r, ready[i], EventKind::kBegin);
  }
}

void OutlineExecution::begin(std::uint32_t r, std::size_t stream, Nanoseconds now) {
  const std::uint32_t meeting = roles_[r].meeting[roles_[r].heads[stream].instruction];
  if (meeting == kNone) {
    start(r, stream, now);
  } else if (--meetings_[meeting].unposted == 0) {
    start(r, stream, now);
    for (const Side& side : meetings_[meeting].sides) {
      if (side.role != r) {
        start(side.role, cost_of(roles_[side.role], side.instruction).stream, now);
      }
    }
  }
}

void OutlineExecution::start(std::uint32_t r, std::size_t stream, Nanoseconds now) {
  RoleState& role = roles_[r];
  Head& head = role.heads[stream];
  const Cost& cost = cost_of(role, head.instruction);
  head.active = true;
  head.since = now;
  head.remaining = static_cast<double>(cost.work);
  head.rate = 1.0;
  push(now + cost.work, r, stream, EventKind::kFinish);
  if (cost.slows) {
    role.slowing[role.slowing_count++] = static_cast<std::uint8_t>(stream);
  }
  if (role.slowing_count != 0 && (cost.slows || stream == kCompute)) {
    update_rates(r, now);
  }
}

void OutlineExecution::finish(std::uint32_t r, std::size_t stream, Nanoseconds now) {
  RoleState& role = roles_[r];
  Head& head = role.heads[stream];
  head.active = false;
  ++head.generation;
  if (role.slowing_count != 0) {
    const auto end = role.slowing.begin() + role.slowing_count;
    const auto kept = std::remove(role.slowing.begin(), end, static_cast<std::uint8_t>(stream));
    role.slowing_count = static_cast<std::uint8_t>(kept - role.slowing.begin());
    update_rates(r, now);
  }
  const std::uint32_t meeting = role.meeting[head.instruction];
  if (meeting == kNone) {
    end(r, stream, now);
  } else if (--meetings_[meeting].unmoved == 0) {
    end(r, stream, now);
    for (const Side& side : meetings_[meeting].sides) {
      if (side.role != r) {
        end(side.role, cost_of(roles_[side.role], side.instruction).stream, now);
      }
    }
  }
}

void OutlineExecution::end(std::uint32_t r, std::size_t own, Nanoseconds now) {
  RoleState& role = roles_[r];
  const std::uint32_t instruction = role.heads[own].instruction;
  role.ended[instruction] = true;
  ++role.done;
  last_ = std::max(last_, now);
  role.heads[own].instruction = role.next[instruction];
  std::uint32_t streams = 1U << own;
  for (std::size_t stream = 0; stream < kStreams; ++stream) {
    if (role.heads[stream].waits_for == instruction) {
      streams |= 1U << stream;
    }
  }
  release(r, streams, now);
}

// Rates of what the role's representative has under way: compute, and the communications that slow it.
void OutlineExecution::update_rates(std::uint32_t r, Nanoseconds now) {
  RoleState& role = roles_[r];
  const bool both = role.heads[kCompute].active && role.slowing_count != 0;
  double compute = 1.0;
  for (std::size_t i = 0; i < role.slowing_count; ++i) {
    const std::size_t stream = role.slowing[i];
    const Cost& cost = cost_of(role, role.heads[stream].instruction);
    const OverlapSlowdown& slowdown = costs_.overlap[static_cast<std::size_t>(cost.group)];
    compute = std::max(compute, slowdown.compute);
    set_rate(r, stream, both ? 1.0 / slowdown.communication : 1.0, now);
  }
  if (role.heads[kCompute].active) {
    set_rate(r, kCompute, 1.0 / compute, now);
  }
}

void OutlineExecution::set_rate(std::uint32_t r, std::size_t stream, double rate, Nanoseconds now) {
  Head& head = roles_[r].heads[stream];
  if (head.rate == rate) {
    return;
  }
  head.remaining = std::max(0.0, head.remaining - static_cast<double>(now - head.since) * head.rate);
  head.since = now;
  head.rate = rate;
  ++head.generation;
  push(now + std::llround(head.remaining / rate), r, stream, EventKind::kFinish);
}

std::string OutlineExecution::waiting() const {
  std::string text;
  for (std::uint32_t r = 0; r < roles_.size() && text.size() < 400; ++r) {
    for (const Head& head : roles_[r].heads) {
      if (head.instruction != kNone) {
        const Instruction& example = roles_[r].outline->example(head.instruction);
        text += (text.empty() ? "role " : "; role ") + std::to_string(r) + " instruction " +
                std::to_string(head.instruction) + " " + std::string(to_string(example.kind));
      }
    }
  }
  return text;
}

}  // namespace trainyard::simulator
