#include "executor/run/step_trace.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "core/error.h"

namespace trainyard::executor {

Trace rank_trace(const Program& program, Rank rank, std::int64_t step, const std::vector<SliceClock>& clocks) {
  const Role& role = program.role_of(rank);
  check(clocks.size() == role.instructions.size(), "a clock for each instruction");
  Trace trace;
  trace.simulated = false;
  trace.program_hash = program.hash;
  trace.step = step;
  trace.provenance.version = tool_version();
  for (const Instruction& instruction : role.instructions) {
    Slice slice;
    slice.rank = rank;
    slice.role = role.id;
    slice.instruction = instruction.id;
    slice.kind = instruction.kind;
    slice.stream = instruction.stream;
    if (instruction.segment) {
      slice.segment = program.segments[instruction.segment->at()].kind;
    }
    slice.microbatch = instruction.microbatch;
    slice.layer = instruction.layer;
    slice.begin = clocks[instruction.id.at()].begin;
    slice.end = clocks[instruction.id.at()].end;
    trace.slices.push_back(slice);
  }
  return trace;
}

Trace merge_traces(const std::vector<Trace>& parts) {
  check(!parts.empty(), "a trace has at least one rank");
  Trace merged = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    merged.slices.insert(merged.slices.end(), parts[i].slices.begin(), parts[i].slices.end());
  }
  if (merged.slices.empty()) {
    return merged;
  }
  const auto earlier = [](const Slice& a, const Slice& b) { return a.begin < b.begin; };
  const Nanoseconds zero = std::min_element(merged.slices.begin(), merged.slices.end(), earlier)->begin;
  merged.duration = 0;
  for (Slice& slice : merged.slices) {
    slice.begin -= zero;
    slice.end -= zero;
    merged.duration = std::max(merged.duration, slice.end);
  }
  std::stable_sort(merged.slices.begin(), merged.slices.end(), [](const Slice& a, const Slice& b) {
    return std::tie(a.rank, a.begin, a.instruction) < std::tie(b.rank, b.begin, b.instruction);
  });
  return merged;
}

std::size_t median_index(const std::vector<Nanoseconds>& durations) {
  check(!durations.empty(), "a median of something");
  std::vector<std::size_t> order(durations.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return durations[a] < durations[b]; });
  return order[(order.size() - 1) / 2];
}

}  // namespace trainyard::executor
