#include "simulator/step/role_times.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "core/program/host_update.h"

namespace trainyard::simulator {

namespace {

using Interval = std::pair<Nanoseconds, Nanoseconds>;

// Sorted, disjoint. Of intervals by when they begin.
std::vector<Interval> merge(const std::vector<Interval>& intervals) {
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

// Those that are no compute of the device's, by when they begin; each stream's are in order.
std::vector<Interval> moving_of(const std::array<std::vector<Interval>, kStreams>& streams) {
  std::vector<Interval> all;
  for (const std::vector<Interval>& stream : streams) {
    std::vector<Interval> both;
    both.reserve(all.size() + stream.size());
    std::merge(all.begin(), all.end(), stream.begin(), stream.end(), std::back_inserter(both));
    all = std::move(both);
  }
  return merge(all);
}

}  // namespace

RoleTimes role_times(const RoleOutline& role, const InstructionTimes* times, Nanoseconds duration) {
  struct Does {
    std::uint8_t kind = 0;
    std::uint8_t stream = 0;
    bool moves = false;
    bool on_host = false;  // a copy to or from it, or its own update
  };
  std::vector<Does> does;
  for (const Instruction& example : role.examples->instructions) {
    const bool on_host = example.kind == InstructionKind::kOffload || updates_on_host(example);
    does.push_back({static_cast<std::uint8_t>(example.kind), static_cast<std::uint8_t>(example.stream),
                    example.communication.has_value(), on_host});
  }
  RoleTimes result;
  std::vector<Interval> compute;
  std::array<std::vector<Interval>, kStreams> moving;
  for (std::size_t i = 0; i < role.instructions.size(); ++i) {
    const Does& what = does[role.instructions[i].example];
    result.busy[what.kind] += times[i].end - times[i].begin;
    if (what.moves) {
      moving[what.stream].emplace_back(times[i].moving, times[i].end);
    } else if (what.on_host) {
      moving[what.stream].emplace_back(times[i].begin, times[i].end);
    } else if (what.stream == static_cast<std::uint8_t>(Stream::kCompute)) {
      compute.emplace_back(times[i].begin, times[i].end);
    }
  }
  const std::vector<Interval> computing = merge(compute);
  const std::vector<Interval> moved = moving_of(moving);
  result.compute = length(computing);
  result.exposed_communication = length(moved) - overlap(computing, moved);
  result.waiting = duration - result.compute - result.exposed_communication;
  return result;
}

}  // namespace trainyard::simulator
