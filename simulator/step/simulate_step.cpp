#include "simulator/step/simulate_step.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "simulator/step/execution.h"

namespace trainyard::simulator {
namespace {

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
  const ProgramOutline outlined = outline_view(program);
  std::vector<std::size_t> by_rank(program.roles.size());
  for (std::size_t r = 0; r < by_rank.size(); ++r) {
    by_rank[r] = r;
    const InstructionTimes* times = execution.times().data() + execution.table().first[r];
    result.roles.push_back(role_times(outlined.roles[r], times, result.duration));
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
