// What a timeline says of a slice or a row in words, and how a search finds slices.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gui/paint/timeline_rows.h"

namespace trainyard::gui {

// "forward", "backward, inputs", "all-gather": for legends and tables.
std::string kind_name(InstructionKind kind);
// What the kind is, in a sentence, for those who see it the first time.
std::string kind_meaning(InstructionKind kind);
// "F", "B", "W", ...: into narrow slices, beside the colour.
std::string kind_letter(InstructionKind kind);
std::string stream_name(Stream stream);

// "forward attention, layer 3, micro-batch 2"
std::string slice_name(const Slice& slice);
// "F3": kind and micro-batch.
std::string slice_label(const Slice& slice);
// "stage 1, compute"; "role 1, compute" without a program.
std::string row_name(const TimelineRows& rows, std::size_t row);
// "predicted, 8 ranks"; "measured, rank 3 of 8"
std::string row_detail(const TimelineRows& rows, std::size_t row);

struct Fact {
  std::string name;
  std::string value;
};
// Times, layer, micro-batch, bytes, algorithm, group: what is known.
std::vector<Fact> slice_facts(const TimelineRows& rows, SliceRef ref);
// As a tooltip: rich text.
std::string slice_tooltip(const TimelineRows& rows, SliceRef ref);

// Words, all of which must fit: part of a kind's, segment's or stream's name, "L3" or "layer3", "mb2", "rank5".
class SliceQuery {
 public:
  explicit SliceQuery(const std::string& text);
  bool empty() const { return words_.empty(); }
  bool matches(const Slice& slice) const;

 private:
  struct Word {
    std::string text;
    std::optional<int> layer;
    std::optional<int> microbatch;
    std::optional<int> rank;
  };
  std::vector<Word> words_;
};

// All slices that fit, by begin.
std::vector<SliceRef> find_slices(const TimelineRows& rows, const SliceQuery& query);

}  // namespace trainyard::gui
