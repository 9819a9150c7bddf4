// TimelineRows: a predicted trace and a measured one as the rows of a timeline.
//
// One row per role (the ranks of a stage whose instructions are equal) and stream; the row says how many ranks it
// stands for. A predicted trace has one rank a role. Of a measured one the rank that ends last is shown for all of its
// role, the one the others wait for; an opened role shows each rank. Predicted stands above measured, stream by stream.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/plan/trace.h"
#include "core/program/program.h"
#include "gui/paint/slice_pyramid.h"

namespace trainyard::gui {

struct TimelineSource {
  std::shared_ptr<const Program> program;  // may be null: then tooltips know what slices say
  std::shared_ptr<const Trace> predicted;  // may be null
  std::shared_ptr<const Trace> measured;   // may be null
  bool empty() const { return (!predicted || predicted->slices.empty()) && (!measured || measured->slices.empty()); }
};

struct TimelineRow {
  int stage = 0;  // of the pipeline; without a program the role's number
  RoleId role;
  Stream stream = Stream::kCompute;
  bool measured = false;
  Rank rank;                // whose slices these are
  std::int64_t stands = 1;  // ranks that the row stands for
  bool foldable = false;    // several measured ranks
  std::shared_ptr<const SlicePyramid> pyramid;
  std::vector<std::uint32_t> slices;  // of the trace, by mark
};

struct SliceRef {
  std::size_t row = 0;
  std::size_t mark = 0;
  friend auto operator<=>(const SliceRef&, const SliceRef&) = default;
};

class TimelineRows {
 public:
  TimelineRows() = default;
  // `opened`: roles whose measured ranks have a row each.
  explicit TimelineRows(TimelineSource source, const std::set<RoleId>& opened = {});

  const TimelineSource& source() const { return source_; }
  const std::vector<TimelineRow>& rows() const { return rows_; }
  Nanoseconds duration() const { return duration_; }  // of the longer trace
  std::size_t slices() const;
  const Slice& slice(SliceRef ref) const;
  const Mark& mark(SliceRef ref) const { return rows_[ref.row].pyramid->marks()[ref.mark]; }
  // Null without a program, or where the trace is of another.
  const Instruction* instruction(SliceRef ref) const;
  // All ranks that the row stands for.
  std::vector<Rank> ranks(std::size_t row) const;
  bool with_stages() const { return source_.program != nullptr; }

 private:
  void add(const Trace& trace, bool measured, const std::set<RoleId>& opened);

  TimelineSource source_;
  std::vector<TimelineRow> rows_;
  Nanoseconds duration_ = 0;
};

}  // namespace trainyard::gui
