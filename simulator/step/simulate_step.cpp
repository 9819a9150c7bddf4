#include "simulator/step/simulate_step.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "simulator/step/execution.h"

namespace trainyard::simulator {
namespace {

using Interval = std::pair<Nanoseconds, Nanoseconds>;

// Sorted, disjoint.
std::vector<Interval> merge(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end());
  std::vector<Interval> merged;
  for (const Interval& interval : intervals) {
    if (!merged.empty() && interval.first <= merged.back().second) {
      merged.back().second = std::max(merged.back().second, interval.second);
    } else {
      merged.push_back(interval);
    }
  }
  return merged;
}

Nanoseconds length(const std::vector<Interval>& intervals) {
  Nanoseconds sum = 0;
  for (const auto& [begin, end] : intervals) {
    sum += end - begin;
  }
  return sum;
}

// Length of the intersection of two sorted, disjoint lists.
Nanoseconds overlap(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  Nanoseconds sum = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    sum += std::max<Nanoseconds>(0, std::min(a[i].second, b[j].second) - std::max(a[i].first, b[j].first));
    (a[i].second < b[j].second ? i : j) += 1;
  }
  return sum;
}

RoleTimes role_times(const Role& role, const InstructionTimes* times, Nanoseconds duration) {
  RoleTimes result;
  std::vector<Interval> compute;
  std::vector<Interval> moving;
  for (std::size_t i = 0; i < role.instructions.size(); ++i) {
    const Instruction& instruction = role.instructions[i];
    result.busy[static_cast<std::size_t>(instruction.kind)] += times[i].end - times[i].begin;
    if (instruction.communication) {
      moving.emplace_back(times[i].moving, times[i].end);
    } else if (instruction.stream == Stream::kCompute) {
      compute.emplace_back(times[i].begin, times[i].end);
    }
  }
  compute = merge(std::move(compute));
  moving = merge(std::move(moving));
  result.compute = length(compute);
  result.exposed_communication = length(moving) - overlap(compute, moving);
  result.waiting = duration - result.compute - result.exposed_communication;
  return result;
}

void append_slices(const Program& program, const Role& role, const InstructionTimes* times, Trace& trace) {
  const std::size_t first = trace.slices.size();
  for (std::size_t i = 0; i < role.instructions.size(); ++i) {
    const Instruction& instruction = role.instructions[i];
    Slice slice;
    slice.rank = role.representative;
    slice.role = role.id;
    slice.instruction = instruction.id;
    slice.kind = instruction.kind;
    slice.stream = instruction.stream;
    if (instruction.segment) {
      slice.segment = program.segments[instruction.segment->at()].kind;
    }
    slice.microbatch = instruction.microbatch;
    slice.layer = instruction.layer;
    slice.begin = times[i].begin;
    slice.end = times[i].end;
    trace.slices.push_back(slice);
  }
  std::sort(trace.slices.begin() + static_cast<std::ptrdiff_t>(first), trace.slices.end(),
            [](const Slice& a, const Slice& b) {
              return std::pair(a.begin, a.instruction) < std::pair(b.begin, b.instruction);
            });
}

}  // namespace

StepResult simulate_step(const Program& program, const StepCosts& costs, TraceDetail detail) {
  Execution execution(program, costs);
  execution.run();
  StepResult result;
  for (const InstructionTimes& times : execution.times()) {
    result.duration = std::max(result.duration, times.end);
  }
  result.trace.simulated = true;
  result.trace.program_hash = program.hash;
  result.trace.duration = result.duration;
  std::vector<std::size_t> by_rank(program.roles.size());
  for (std::size_t r = 0; r < by_rank.size(); ++r) {
    by_rank[r] = r;
    const InstructionTimes* times = execution.times().data() + execution.table().first[r];
    result.roles.push_back(role_times(program.roles[r], times, result.duration));
  }
  if (detail == TraceDetail::kSlices) {
    std::sort(by_rank.begin(), by_rank.end(), [&](std::size_t a, std::size_t b) {
      return program.roles[a].representative < program.roles[b].representative;
    });
    for (const std::size_t r : by_rank) {
      append_slices(program, program.roles[r], execution.times().data() + execution.table().first[r], result.trace);
    }
  }
  return result;
}

}  // namespace trainyard::simulator
