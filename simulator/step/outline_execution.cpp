#include "simulator/step/outline_execution.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "core/error.h"

namespace trainyard::simulator {

namespace {

constexpr auto kCompute = static_cast<std::size_t>(Stream::kCompute);

std::size_t lowest(std::uint32_t bits) { return static_cast<std::size_t>(std::countr_zero(bits)); }

}  // namespace

void OutlineExecution::set_costs(RoleState& role, const std::vector<Nanoseconds>& work) const {
  check(work.size() == role.costs.size(), "every example needs a cost");
  for (std::size_t e = 0; e < work.size(); ++e) {
    Cost& cost = role.costs[e];
    cost.work = work[e];
    if (cost.group >= 0) {
      const OverlapSlowdown& slowdown = costs_->overlap[static_cast<std::size_t>(cost.group)];
      cost.slows = slowdown.compute > 1.0 || slowdown.communication > 1.0;
      check(!cost.slows || !cost.meets, "what joins stages slows nothing");
    }
  }
  Nanoseconds sum = 0;
  for (std::uint32_t i = role.first[kCompute]; i != kNone; i = role.next[i]) {
    sum += cost_of(role, i).work;
    role.compute[i] = sum;
  }
}

void OutlineExecution::reset(const OutlineCosts& costs, OutlineTimes* times) {
  costs_ = &costs;
  if (times != nullptr) {
    times->resize(roles_.size());
  }
  for (std::size_t r = 0; r < roles_.size(); ++r) {
    RoleState& role = roles_[r];
    set_costs(role, costs.work[r]);
    const std::size_t n = role.next.size();
    role.ended.assign(n, false);
    role.at = role.first;
    role.waits_for.fill(kNone);
    role.waiting = role.busy = 0;
    role.finish.fill(kNever);
    role.posted.fill(kNone);
    role.slowing_count = 0;
    role.generations = 0;
    role.done = 0;
    role.clock = kNever;
    if (times != nullptr) {
      (*times)[r].assign(n, {});
      role.times = (*times)[r].data();
    } else {
      role.times = nullptr;
    }
  }
  for (Meeting& meeting : meetings_) {
    meeting.unposted = meeting.sides.size();
    for (Side& side : meeting.sides) {
      side.came = kNever;
    }
  }
}

Nanoseconds OutlineExecution::run(const OutlineCosts& costs, OutlineTimes* times) {
  reset(costs, times);
  now_ = reach_ = behind_ = 0;
  for (std::uint32_t r = 0; r < roles_.size(); ++r) {
    release(roles_[r], (1U << kStreams) - 1);
    happen(r);
    set_clock(r, next_event(roles_[r]));
  }
  Nanoseconds last = 0;
  while (!turns_.empty()) {
    const auto [clock, r] = turns_.top();
    turns_.pop();
    if (clock == roles_[r].clock) {
      behind_ = clock;
      advance(r);
      last = std::max(last, now_);
    }
  }
  for (const RoleState& role : roles_) {
    if (role.done != role.next.size()) {
      check(false, "the step cannot finish; waiting: " + waiting());
    }
  }
  return last;
}

void OutlineExecution::set_clock(std::uint32_t r, Nanoseconds clock) {
  roles_[r].clock = clock;
  if (clock != kNever) {
    turns_.push({clock, r});
  }
}

// Most of the time one stream is busy, or two.
Nanoseconds OutlineExecution::next_event(const RoleState& role) {
  Nanoseconds next = kNever;
  for (std::uint32_t busy = role.busy; busy != 0; busy &= busy - 1) {
    next = std::min(next, role.finish[lowest(busy)]);
  }
  return next;
}

// From where the role is to where others may reach it. Its first event may always happen: all others are as far.
void OutlineExecution::advance(std::uint32_t r) {
  RoleState& role = roles_[r];
  reach_ = reach_of(role);
  do {
    now_ = next_event(role);
    happen(r);
    role.clock = next_event(role);
  } while (role.clock < reach_);
  set_clock(r, role.clock);
}

Nanoseconds OutlineExecution::reach_of(const RoleState& role) const {
  Nanoseconds reach = kNever;
  for (const std::uint32_t meeting : role.posted) {
    if (meeting != kNone) {
      reach = std::min(reach, earliest_end(meetings_[meeting]));
    }
  }
  return reach;
}

Nanoseconds OutlineExecution::earliest_end(const Meeting& meeting) const {
  Nanoseconds begins = 0;
  Nanoseconds work = 0;
  for (const Side& side : meeting.sides) {
    begins = std::max(begins, side.came != kNever ? side.came : earliest_post(side));
    work = std::max(work, cost_of(roles_[side.role], side.instruction).work);
  }
  return begins + work;
}

Nanoseconds OutlineExecution::earliest_post(const Side& side) const {
  const RoleState& role = roles_[side.role];
  const std::uint32_t head = role.at[kCompute];
  if (side.computed == kNone || role.ended[side.computed]) {
    return behind_;
  }
  const Nanoseconds between = role.compute[side.computed] - role.compute[head];
  if (role.finish[kCompute] == kNever) {
    return behind_ + cost_of(role, head).work + between;
  }
  // At full rate; ends are rounded.
  const Nanoseconds ends = role.since[kCompute] + static_cast<Nanoseconds>(role.remaining[kCompute]) - 1;
  return std::max(behind_, ends) + between;
}

// All of the role's that is to happen now: first what was known before, in the order in which it was.
void OutlineExecution::happen(std::uint32_t r) {
  RoleState& role = roles_[r];
  for (std::size_t stream = first_finished(role); stream < kStreams; stream = first_finished(role)) {
    finish(role, stream);
  }
  for (std::size_t i = 0; i < due_.size(); ++i) {
    const Due due = due_[i];
    if (due.begins) {
      begin(r, due.stream);
    } else if (due.generation == role.generation[due.stream] && role.finish[due.stream] == now_) {
      finish(role, due.stream);
    }
  }
  due_.clear();
}

std::size_t OutlineExecution::first_finished(const RoleState& role) const {
  std::size_t first = kStreams;
  for (std::uint32_t busy = role.busy; busy != 0; busy &= busy - 1) {
    const std::size_t stream = lowest(busy);
    if (role.finish[stream] == now_ && role.made[stream] < now_ &&
        (first == kStreams ||
         std::pair(role.made[stream], role.generation[stream]) < std::pair(role.made[first], role.generation[first]))) {
      first = stream;
    }
  }
  return first;
}

bool OutlineExecution::is_ready(RoleState& role, std::size_t stream) const {
  const std::uint32_t bit = 1U << stream;
  role.waits_for[stream] = kNone;
  role.waiting &= ~bit;
  const std::uint32_t i = role.at[stream];
  if (i == kNone) {
    return false;
  }
  const std::vector<OutlineInstruction>& instructions = role.outline->instructions;
  for (std::uint32_t w = i == 0 ? 0 : instructions[i - 1].waits_end; w < instructions[i].waits_end; ++w) {
    if (!role.ended[role.outline->waits[w]]) {
      role.waits_for[stream] = role.outline->waits[w];
      role.waiting |= bit;
      return false;
    }
  }
  return true;
}

// The next instructions of these streams, by bit, as far as they wait for nothing more; in the program's order.
void OutlineExecution::release(RoleState& role, std::uint32_t streams) {
  const std::size_t first = due_.size();
  for (; streams != 0; streams &= streams - 1) {
    const std::size_t stream = lowest(streams);
    if (!is_ready(role, stream)) {
      continue;
    }
    due_.push_back({0, static_cast<std::uint8_t>(stream), true});
    for (std::size_t at = due_.size() - 1; at > first && role.at[due_[at - 1].stream] > role.at[stream]; --at) {
      std::swap(due_[at - 1], due_[at]);
    }
  }
}

void OutlineExecution::begin(std::uint32_t r, std::size_t stream) {
  RoleState& role = roles_[r];
  const std::uint32_t instruction = role.at[stream];
  if (role.times != nullptr) {
    role.times[instruction].begin = now_;
  }
  if (cost_of(role, instruction).meets) {
    post(r, stream, role.meeting[instruction]);
  } else {
    start(role, stream);
  }
}

// The last to come sets the end for all sides; a side may have come later by its own clock.
void OutlineExecution::post(std::uint32_t r, std::size_t stream, std::uint32_t meeting) {
  Meeting& met = meetings_[meeting];
  for (Side& side : met.sides) {
    if (side.role == r) {
      side.came = now_;
    }
  }
  if (--met.unposted > 0) {
    roles_[r].posted[stream] = meeting;
    reach_ = std::min(reach_, earliest_end(met));
    return;
  }
  Nanoseconds begins = 0;
  Nanoseconds work = 0;
  for (const Side& side : met.sides) {
    begins = std::max(begins, side.came);
    work = std::max(work, cost_of(roles_[side.role], side.instruction).work);
  }
  for (const Side& side : met.sides) {
    RoleState& role = roles_[side.role];
    const std::size_t own = cost_of(role, side.instruction).stream;
    role.posted[own] = kNone;
    role.finish[own] = begins + work;
    role.busy |= 1U << own;
    const bool due = side.role == r && begins + work == now_;
    role.made[own] = due || work > 0 ? begins : begins - 1;  // a role looks for what it knew before
    role.generation[own] = ++role.generations;
    if (role.times != nullptr) {
      role.times[side.instruction].moving = begins;
    }
    if (side.role != r) {
      if (begins + work < role.clock) {
        set_clock(side.role, begins + work);
      }
    } else if (due) {
      due_.push_back({role.generations, static_cast<std::uint8_t>(own), false});
    }
  }
}

void OutlineExecution::set_finish(RoleState& role, std::size_t stream, Nanoseconds at) {
  role.finish[stream] = at;
  role.busy |= 1U << stream;
  role.made[stream] = now_;
  role.generation[stream] = ++role.generations;
  if (at == now_) {
    due_.push_back({role.generations, static_cast<std::uint8_t>(stream), false});
  }
}

void OutlineExecution::start(RoleState& role, std::size_t stream) {
  const Cost& cost = cost_of(role, role.at[stream]);
  role.since[stream] = now_;
  role.remaining[stream] = static_cast<double>(cost.work);
  role.rate[stream] = 1.0;
  set_finish(role, stream, now_ + cost.work);
  if (role.times != nullptr && cost.group >= 0) {
    role.times[role.at[stream]].moving = now_;
  }
  if (cost.slows) {
    role.slowing[role.slowing_count++] = static_cast<std::uint8_t>(stream);
  }
  if (role.slowing_count != 0 && (cost.slows || stream == kCompute)) {
    update_rates(role);
  }
}

void OutlineExecution::finish(RoleState& role, std::size_t stream) {
  role.finish[stream] = kNever;
  role.busy &= ~(1U << stream);
  if (role.slowing_count != 0) {
    const auto end = role.slowing.begin() + role.slowing_count;
    const auto kept = std::remove(role.slowing.begin(), end, static_cast<std::uint8_t>(stream));
    role.slowing_count = static_cast<std::uint8_t>(kept - role.slowing.begin());
    update_rates(role);
  }
  const std::uint32_t instruction = role.at[stream];
  if (role.times != nullptr) {
    role.times[instruction].end = now_;
  }
  role.ended[instruction] = true;
  ++role.done;
  role.at[stream] = role.next[instruction];
  std::uint32_t streams = 1U << stream;
  for (std::uint32_t waiting = role.waiting; waiting != 0; waiting &= waiting - 1) {
    const std::size_t other = lowest(waiting);
    streams |= static_cast<std::uint32_t>(role.waits_for[other] == instruction) << other;
  }
  release(role, streams);
}

// Rates of what the role's representative has under way: compute, and the communications that slow it.
void OutlineExecution::update_rates(RoleState& role) {
  const bool computes = role.finish[kCompute] != kNever && !cost_of(role, role.at[kCompute]).on_host;
  const bool both = computes && role.slowing_count != 0;
  double compute = 1.0;
  for (std::size_t i = 0; i < role.slowing_count; ++i) {
    const std::size_t stream = role.slowing[i];
    const Cost& cost = cost_of(role, role.at[stream]);
    const OverlapSlowdown& slowdown = costs_->overlap[static_cast<std::size_t>(cost.group)];
    compute = std::max(compute, slowdown.compute);
    set_rate(role, stream, both ? 1.0 / slowdown.communication : 1.0);
  }
  if (computes) {
    set_rate(role, kCompute, 1.0 / compute);
  }
}

void OutlineExecution::set_rate(RoleState& role, std::size_t stream, double rate) {
  if (role.rate[stream] == rate) {
    return;
  }
  role.remaining[stream] =
      std::max(0.0, role.remaining[stream] - static_cast<double>(now_ - role.since[stream]) * role.rate[stream]);
  role.since[stream] = now_;
  role.rate[stream] = rate;
  set_finish(role, stream, now_ + std::llround(role.remaining[stream] / rate));
}

std::string OutlineExecution::waiting() const {
  std::string text;
  for (std::uint32_t r = 0; r < roles_.size() && text.size() < 400; ++r) {
    for (const std::uint32_t instruction : roles_[r].at) {
      if (instruction != kNone) {
        const Instruction& example = roles_[r].outline->example(instruction);
        text += (text.empty() ? "role " : "; role ") + std::to_string(r) + " instruction " +
                std::to_string(instruction) + " " + std::string(to_string(example.kind));
      }
    }
  }
  return text;
}

}  // namespace trainyard::simulator
