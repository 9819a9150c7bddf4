#include "simulator/memory/memory_over_step.h"

#include <algorithm>
#include <numeric>

#include "core/error.h"

namespace trainyard::simulator {

namespace {

struct Change {
  Nanoseconds at = 0;
  bool begins = false;
  std::size_t cause = 0;
  ByteCount bytes;
};

std::vector<Change> changes_of(const Role& role, const std::vector<Interval>& times) {
  std::vector<Change> changes;
  for (const Buffer& buffer : role.buffers) {
    if (buffer.persistent || !buffer.first_use || !buffer.last_use) {
      continue;
    }
    const auto cause = static_cast<std::size_t>(buffer.cause);
    const Nanoseconds begin = times[buffer.first_use->at()].begin;
    const Nanoseconds end = times[buffer.last_use->at()].end;
    if (end > begin) {
      changes.push_back({begin, true, cause, buffer.bytes});
      changes.push_back({end, false, cause, buffer.bytes});
    }
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
  return changes;
}

}  // namespace

ByteCount MemoryMoment::total() const { return std::accumulate(by_cause.begin(), by_cause.end(), ByteCount()); }

std::vector<MemoryMoment> memory_over_step(const Role& role, const std::vector<Interval>& times) {
  check(times.size() == role.instructions.size(), "a time for each instruction");
  MemoryMoment moment;
  for (const Buffer& buffer : role.buffers) {
    if (buffer.persistent) {
      moment.by_cause.at(static_cast<std::size_t>(buffer.cause)) += buffer.bytes;
    }
  }
  std::vector<MemoryMoment> moments = {moment};
  for (const Change& change : changes_of(role, times)) {
    if (change.at != moments.back().at) {
      moments.push_back(moments.back());
      moments.back().at = change.at;
    }
    ByteCount& held = moments.back().by_cause.at(change.cause);
    held = change.begins ? held + change.bytes : held - change.bytes;
  }
  Nanoseconds end = 0;
  for (const Interval& time : times) {
    end = std::max(end, time.end);
  }
  if (end > moments.back().at) {
    moments.push_back(moments.back());
    moments.back().at = end;
  }
  return moments;
}

std::vector<Interval> times_of(const Role& role, const Trace& trace) {
  std::vector<Interval> times(role.instructions.size());
  bool found = false;
  for (const Slice& slice : trace.slices) {
    if (slice.role == role.id && slice.rank == role.representative && slice.instruction.at() < times.size()) {
      times[slice.instruction.at()] = {slice.begin, slice.end};
      found = true;
    }
  }
  for (std::size_t i = 0; !found && i < times.size(); ++i) {
    times[i] = {static_cast<Nanoseconds>(i), static_cast<Nanoseconds>(i) + 1};
  }
  return times;
}

}  // namespace trainyard::simulator
