#include "simulator/step/execution.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/program/host_update.h"

namespace trainyard::simulator {

Execution::Execution(const Program& program, const StepCosts& costs)
    : program_(program),
      costs_(costs),
      table_(program),
      rendezvous_(program, table_),
      activities_(program.roles.size()),
      times_(table_.size()),
      ended_(table_.size(), false) {
  slows_ = std::any_of(costs.overlap.begin(), costs.overlap.end(), [](const OverlapSlowdown& slowdown) {
    return slowdown.compute > 1.0 || slowdown.communication > 1.0;
  });
  group_.reserve(table_.size());
  work_.reserve(table_.size());
  for (std::size_t r = 0; r < program.roles.size(); ++r) {
    check(costs.work[r].size() == program.roles[r].instructions.size(), "every instruction needs a cost");
    for (std::size_t i = 0; i < costs.work[r].size(); ++i) {
      const Instruction& instruction = program.roles[r].instructions[i];
      const bool beside = instruction.stream != Stream::kCompute || updates_on_host(instruction);
      group_.push_back(instruction.communication ? static_cast<std::int32_t>(instruction.communication->group.value())
                                                 : (beside ? kBesideUnits : kOnUnits));
      work_.push_back(costs.work[r][i]);
    }
  }
  link_dependencies();
}

void Execution::link_dependencies() {
  states_.resize(table_.size());
  std::vector<std::pair<std::uint32_t, Dependent>> edges;
  edges.reserve(table_.size() * 2);
  for (std::size_t r = 0; r < program_.roles.size(); ++r) {
    std::array<std::int64_t, kStreams> last;
    last.fill(-1);
    for (const Instruction& instruction : program_.roles[r].instructions) {
      const std::uint32_t own = table_.first[r] + static_cast<std::uint32_t>(instruction.id.value());
      std::int64_t& previous = last[static_cast<std::size_t>(instruction.stream)];
      if (previous >= 0) {
        edges.push_back({static_cast<std::uint32_t>(previous), {own, false}});
        ++states_[own].pending;
      }
      previous = own;
      for (const Dependency& wait : instruction.waits) {
        if (wait.step_offset == 0) {
          edges.push_back({table_.first[r] + static_cast<std::uint32_t>(wait.instruction.value()), {own, true}});
          ++states_[own].pending;
        }
      }
      states_[own].unposted = rendezvous_.others(own) + 1;
      states_[own].unmoved = rendezvous_.others(own) + 1;
    }
  }
  dependent_offsets_.assign(table_.size() + 1, 0);
  for (const auto& [from, dependent] : edges) {
    ++dependent_offsets_[from + 1];
  }
  for (std::size_t i = 0; i < table_.size(); ++i) {
    dependent_offsets_[i + 1] += dependent_offsets_[i];
  }
  dependents_.resize(edges.size());
  std::vector<std::uint32_t> next(dependent_offsets_.begin(), dependent_offsets_.end() - 1);
  for (const auto& [from, dependent] : edges) {
    dependents_[next[from]++] = dependent;
  }
}

void Execution::push(Nanoseconds time, std::uint32_t instruction, EventKind kind) {
  events_.push({time, sequence_++, instruction, states_[instruction].generation, kind});
}

void Execution::run() {
  for (std::uint32_t i = 0; i < table_.size(); ++i) {
    if (states_[i].pending == 0) {
      push(0, i, EventKind::kBegin);
    }
  }
  while (!events_.empty()) {
    const Event event = events_.top();
    events_.pop();
    handle(event);
  }
  if (done_ != table_.size()) {
    check(false, "the step cannot finish; waiting: " + waiting_instructions());
  }
}

void Execution::handle(const Event& event) {
  if (event.generation != states_[event.instruction].generation) {
    return;  // its rate has changed since; a later event stands for it
  }
  switch (event.kind) {
    case EventKind::kBegin:
      begin(event.instruction, event.time);
      break;
    case EventKind::kPost:
      post(event.instruction, event.time);
      break;
    case EventKind::kFinish:
      finish_work(event.instruction, event.time);
      break;
  }
}

void Execution::begin(std::uint32_t instruction, Nanoseconds now) {
  times_[instruction].begin = now;
  if (!communicates(instruction)) {
    states_[instruction].remaining = static_cast<double>(costs_.instruction_overhead + work_[instruction]);
    start_work(instruction, now);
  } else if (costs_.instruction_overhead > 0) {
    push(now + costs_.instruction_overhead, instruction, EventKind::kPost);
  } else {
    post(instruction, now);
  }
}

void Execution::post(std::uint32_t instruction, Nanoseconds now) {
  const auto arrive = [&](std::uint32_t waiter) {
    if (--states_[waiter].unposted == 0) {
      times_[waiter].moving = now;
      states_[waiter].remaining = static_cast<double>(work_[waiter]);
      start_work(waiter, now);
    }
  };
  arrive(instruction);
  for (const std::uint32_t waiter : rendezvous_.waiting_for(instruction)) {
    arrive(waiter);
  }
}

void Execution::start_work(std::uint32_t instruction, Nanoseconds now) {
  State& state = states_[instruction];
  state.since = now;
  state.rate = 1.0;
  push(now + std::llround(state.remaining), instruction, EventKind::kFinish);
  if (!slows_) {
    return;
  }
  const std::uint32_t role = table_.role[instruction];
  Activity& activity = activities_[role];
  if (communicates(instruction)) {
    activity.moving.push_back(instruction);
  } else if (computes(instruction)) {
    ++activity.computing;
    activity.compute_instruction = instruction;
  }
  update_rates(role, now);
}

void Execution::finish_work(std::uint32_t instruction, Nanoseconds now) {
  if (slows_) {
    const std::uint32_t role = table_.role[instruction];
    Activity& activity = activities_[role];
    if (communicates(instruction)) {
      std::erase(activity.moving, instruction);
    } else if (computes(instruction)) {
      --activity.computing;
    }
    update_rates(role, now);
  }
  if (!communicates(instruction)) {
    end(instruction, now);
    return;
  }
  const auto arrive = [&](std::uint32_t waiter) {
    if (--states_[waiter].unmoved == 0) {
      end(waiter, now);
    }
  };
  arrive(instruction);
  for (const std::uint32_t waiter : rendezvous_.waiting_for(instruction)) {
    arrive(waiter);
  }
}

void Execution::end(std::uint32_t instruction, Nanoseconds now) {
  times_[instruction].end = now;
  ended_[instruction] = true;
  ++done_;
  for (std::uint32_t i = dependent_offsets_[instruction]; i < dependent_offsets_[instruction + 1]; ++i) {
    const Dependent& dependent = dependents_[i];
    release(dependent.instruction, now + (dependent.handover ? costs_.stream_handover : 0));
  }
}

void Execution::release(std::uint32_t instruction, Nanoseconds ready) {
  State& state = states_[instruction];
  state.ready = std::max(state.ready, ready);
  if (--state.pending == 0) {
    push(state.ready, instruction, EventKind::kBegin);
  }
}

// Rates of everything that the role's representative has under way.
void Execution::update_rates(std::uint32_t role, Nanoseconds now) {
  const Activity& activity = activities_[role];
  const bool both = activity.computing > 0 && !activity.moving.empty();
  double compute = 1.0;
  for (const std::uint32_t moving : activity.moving) {
    const OverlapSlowdown& slowdown = costs_.overlap[static_cast<std::size_t>(group_[moving])];
    compute = std::max(compute, slowdown.compute);
    set_rate(moving, both ? 1.0 / slowdown.communication : 1.0, now);
  }
  if (activity.computing > 0) {
    set_rate(activity.compute_instruction, 1.0 / compute, now);
  }
}

void Execution::set_rate(std::uint32_t instruction, double rate, Nanoseconds now) {
  State& state = states_[instruction];
  if (state.rate == rate) {
    return;
  }
  state.remaining = std::max(0.0, state.remaining - static_cast<double>(now - state.since) * state.rate);
  state.since = now;
  state.rate = rate;
  ++state.generation;
  push(now + std::llround(state.remaining / rate), instruction, EventKind::kFinish);
}

std::string Execution::waiting_instructions() const {
  constexpr int kNamed = 8;
  std::string text;
  int named = 0;
  for (std::uint32_t i = 0; i < table_.size() && named < kNamed; ++i) {
    const bool posted = states_[i].pending == 0;
    // Only heads of streams: what waits behind them is not the cause.
    const bool blocked_head = !ended_[i] && (posted || states_[i].ready > 0);
    if (!blocked_head) {
      continue;
    }
    const Instruction& instruction = table_.at(program_, i);
    text += fmt::format("{}role {} instruction {} {} on {}{} ({})", named == 0 ? "" : "; ", table_.role[i],
                        instruction.id.value(), to_string(instruction.kind), to_string(instruction.stream),
                        instruction.microbatch ? fmt::format(" micro-batch {}", *instruction.microbatch) : "",
                        posted ? "posted, its peers have not come" : "waits for another stream");
    ++named;
  }
  return text;
}

}  // namespace trainyard::simulator
