// SlicePyramid: the slices of one row of a timeline, answerable at any zoom in time that the picture's width bounds.
//
//   level 0    slices, by begin
//   level l+1  four nodes of level l each: begin of the first, end of the last, time of each kind between
//
// Drawing stops at the first node that is no wider than two pixels and spreads its kinds' time over them, so that work
// is O(pixels + log n) however many slices there are. A pixel shows the kind that takes most of its time, and what
// share of it anything is at work at all: short slices between idle ones pale, they don't vanish. Sums over a stretch
// of time are exact, in O(log n).
//
// Memory: 24 bytes a slice, and a third as many nodes of 16 + 8 bytes a kind that the row has.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/program/instruction.h"
#include "core/units/quantity.h"
#include "gui/paint/time_view.h"

namespace trainyard::gui {

struct Mark {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  InstructionKind kind = InstructionKind::kForward;
};

// Pixels [left, right) of one colour.
struct PixelRun {
  static constexpr std::int32_t kSeveral = -1;
  int left = 0;
  int right = 0;
  InstructionKind kind = InstructionKind::kForward;  // that takes most of the time
  std::uint8_t sixteenths = 16;                      // of the time that something is at work
  std::int32_t mark = kSeveral;                      // the slice that fills it
  friend bool operator==(const PixelRun&, const PixelRun&) = default;
};

using KindTimes = std::array<Nanoseconds, kInstructionKinds>;

class SlicePyramid {
 public:
  SlicePyramid() = default;
  // Sorted by begin here. One row's work never overlaps itself; where a clock says so the later begin counts.
  explicit SlicePyramid(std::vector<Mark> marks);

  const std::vector<Mark>& marks() const { return marks_; }
  std::optional<std::size_t> at(Nanoseconds time) const;
  // The mark under `time`, else the nearest no further than `reach`.
  std::optional<std::size_t> nearest(Nanoseconds time, Nanoseconds reach) const;
  // The first that ends after `time`; marks().size() where none does.
  std::size_t first_after(Nanoseconds time) const;
  KindTimes totals(Nanoseconds begin, Nanoseconds end) const;

  // Appends the runs of a picture of `width` pixels, left to right.
  void add_runs(const TimeView& view, int width, std::vector<PixelRun>& runs) const;

 private:
  static constexpr std::size_t kFanOut = 4;
  struct Node {
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
  };
  struct Level {
    std::vector<Node> nodes;
    std::vector<Nanoseconds> times;  // of each kind of the row, node by node
  };
  class Drawing;

  void build();
  Node node(std::size_t level, std::size_t index) const;
  std::size_t size(std::size_t level) const { return level == 0 ? marks_.size() : levels_[level - 1].nodes.size(); }
  void add_totals(std::size_t level, std::size_t index, Nanoseconds begin, Nanoseconds end, KindTimes& sum) const;

  std::vector<Mark> marks_;
  std::vector<InstructionKind> kinds_;                      // that the row has
  std::array<std::uint8_t, kInstructionKinds> place_ = {};  // of each in kinds_
  std::vector<Level> levels_;
};

}  // namespace trainyard::gui
