#include "gui/paint/timeline_rows.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace trainyard::gui {

namespace {

// Slices of one rank of a role, by stream.
using Streams = std::map<Stream, std::vector<std::uint32_t>>;

struct RankSlices {
  Streams streams;
  Nanoseconds end = 0;
};

using ByRole = std::map<RoleId, std::map<Rank, RankSlices>>;

ByRole by_role(const Trace& trace) {
  ByRole roles;
  RankSlices* current = nullptr;
  std::vector<std::uint32_t>* stream = nullptr;
  const Slice* before = nullptr;
  for (std::size_t i = 0; i < trace.slices.size(); ++i) {
    const Slice& slice = trace.slices[i];
    const bool same_rank = before != nullptr && before->rank == slice.rank && before->role == slice.role;
    if (!same_rank) {
      current = &roles[slice.role][slice.rank];
    }
    if (!same_rank || before->stream != slice.stream) {
      stream = &current->streams[slice.stream];
    }
    stream->push_back(static_cast<std::uint32_t>(i));
    current->end = std::max(current->end, slice.end);
    before = &slice;
  }
  return roles;
}

std::shared_ptr<const SlicePyramid> pyramid_of(const Trace& trace, std::vector<std::uint32_t>& slices) {
  const auto earlier = [&](std::uint32_t a, std::uint32_t b) { return trace.slices[a].begin < trace.slices[b].begin; };
  if (!std::is_sorted(slices.begin(), slices.end(), earlier)) {
    std::stable_sort(slices.begin(), slices.end(), earlier);
  }
  std::vector<Mark> marks;
  marks.reserve(slices.size());
  for (const std::uint32_t index : slices) {
    const Slice& slice = trace.slices[index];
    marks.push_back({slice.begin, slice.end, slice.kind});
  }
  return std::make_shared<const SlicePyramid>(std::move(marks));
}

}  // namespace

TimelineRows::TimelineRows(TimelineSource source, const std::set<RoleId>& opened) : source_(std::move(source)) {
  if (source_.predicted) {
    add(*source_.predicted, false, {});
  }
  if (source_.measured) {
    add(*source_.measured, true, opened);
  }
  std::stable_sort(rows_.begin(), rows_.end(), [](const TimelineRow& a, const TimelineRow& b) {
    return std::tuple(a.stage, a.role, a.stream, a.measured, a.rank) <
           std::tuple(b.stage, b.role, b.stream, b.measured, b.rank);
  });
}

void TimelineRows::add(const Trace& trace, bool measured, const std::set<RoleId>& opened) {
  duration_ = std::max(duration_, trace.duration);
  const Program* program = source_.program.get();
  for (auto& [role, ranks] : by_role(trace)) {
    const bool known = program != nullptr && role.at() < program->roles.size();
    const auto last = std::max_element(ranks.begin(), ranks.end(),
                                       [](const auto& a, const auto& b) { return a.second.end < b.second.end; });
    for (auto& [rank, slices] : ranks) {
      duration_ = std::max(duration_, slices.end);
      const bool each = opened.contains(role);
      if (measured && !each && rank != last->first) {
        continue;
      }
      for (auto& [stream, indices] : slices.streams) {
        TimelineRow row;
        row.stage = known ? program->roles[role.at()].stage : role.value();
        row.role = role;
        row.stream = stream;
        row.measured = measured;
        row.rank = rank;
        row.foldable = measured && ranks.size() > 1;
        if (measured) {
          row.stands = each ? 1 : static_cast<std::int64_t>(ranks.size());
        } else {
          row.stands = known ? program->roles[role.at()].ranks : static_cast<std::int64_t>(ranks.size());
        }
        row.pyramid = pyramid_of(trace, indices);
        row.slices = std::move(indices);
        rows_.push_back(std::move(row));
      }
    }
  }
}

std::size_t TimelineRows::slices() const {
  std::size_t count = 0;
  for (const TimelineRow& row : rows_) {
    count += row.slices.size();
  }
  return count;
}

const Slice& TimelineRows::slice(SliceRef ref) const {
  const TimelineRow& row = rows_[ref.row];
  const Trace& trace = row.measured ? *source_.measured : *source_.predicted;
  return trace.slices[row.slices[ref.mark]];
}

const Instruction* TimelineRows::instruction(SliceRef ref) const {
  const Slice& of = slice(ref);
  if (!source_.program || of.role.at() >= source_.program->roles.size()) {
    return nullptr;
  }
  const std::vector<Instruction>& all = source_.program->roles[of.role.at()].instructions;
  return of.instruction.at() < all.size() && all[of.instruction.at()].kind == of.kind ? &all[of.instruction.at()]
                                                                                      : nullptr;
}

std::vector<Rank> TimelineRows::ranks(std::size_t index) const {
  const TimelineRow& row = rows_[index];
  if (row.stands == 1 || !source_.program) {
    return {row.rank};
  }
  std::vector<Rank> ranks;
  const std::vector<Binding>& bindings = source_.program->bindings;
  for (std::size_t rank = 0; rank < bindings.size(); ++rank) {
    if (bindings[rank].role == row.role) {
      ranks.emplace_back(static_cast<std::int64_t>(rank));
    }
  }
  return ranks;
}

}  // namespace trainyard::gui
