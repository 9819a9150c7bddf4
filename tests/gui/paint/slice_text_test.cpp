#include "gui/paint/slice_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/program/program.h"
#include "tests/core/program/tiny_plan.h"

namespace trainyard::gui {
namespace {

// A trace of a program in which each instruction takes 10 ns after the one before, on its stream.
std::shared_ptr<Trace> one_by_one(const Program& program, bool simulated) {
  auto trace = std::make_shared<Trace>();
  trace->simulated = simulated;
  for (std::size_t rank = 0; rank < program.bindings.size(); ++rank) {
    const Role& role = program.roles[program.bindings[rank].role.at()];
    if (simulated && role.representative.at() != rank) {
      continue;
    }
    Nanoseconds at = simulated ? 0 : static_cast<Nanoseconds>(5 * rank);
    for (const Instruction& instruction : role.instructions) {
      Slice slice;
      slice.rank = Rank(static_cast<std::int64_t>(rank));
      slice.role = role.id;
      slice.instruction = instruction.id;
      slice.kind = instruction.kind;
      slice.stream = instruction.stream;
      slice.microbatch = instruction.microbatch;
      slice.layer = instruction.layer;
      slice.begin = at;
      slice.end = at += 10;
      trace->slices.push_back(slice);
    }
    trace->duration = std::max(trace->duration, at);
  }
  return trace;
}

TimelineSource source_of(const Layout& layout, bool measured) {
  TimelineSource source;
  auto program = std::make_shared<const Program>(compile(testing::tiny_plan(layout)));
  source.predicted = one_by_one(*program, true);
  if (measured) {
    source.measured = one_by_one(*program, false);
  }
  source.program = std::move(program);
  return source;
}

Layout two_by_two() {
  Layout layout;
  layout.pipeline = 2;
  layout.data = 2;
  layout.accumulation = 4;
  return layout;
}

TEST(TimelineRows, EqualRanksAreOneRowWithACountAndPredictedStandsAboveMeasured) {
  const TimelineRows rows(source_of(two_by_two(), true));
  ASSERT_GE(rows.rows().size(), 4U);
  EXPECT_FALSE(rows.rows()[0].measured);
  EXPECT_TRUE(rows.rows()[1].measured);
  EXPECT_EQ(rows.rows()[0].stream, rows.rows()[1].stream);
  EXPECT_EQ(rows.rows()[0].stage, 0);
  std::int64_t stands = 0;
  for (const TimelineRow& row : rows.rows()) {
    if (row.stream == Stream::kCompute && row.measured) {
      stands += row.stands;
    }
  }
  EXPECT_EQ(stands, 4);  // all ranks, in two rows or more
}

TEST(TimelineRows, OfMeasuredRanksTheLastToEndIsShownAndOpeningShowsEach) {
  const TimelineSource source = source_of(two_by_two(), true);
  const TimelineRows folded(source);
  const TimelineRow& row = folded.rows()[1];
  if (row.stands > 1) {
    EXPECT_EQ(row.rank, folded.ranks(1).back());  // later ranks begin later
  }
  const TimelineRows opened(source, {row.role});
  EXPECT_EQ(opened.rows().size() - folded.rows().size(),
            static_cast<std::size_t>(row.stands - 1) *
                static_cast<std::size_t>(std::count_if(folded.rows().begin(), folded.rows().end(), [&](const auto& of) {
                  return of.measured && of.role == row.role;
                })));
}

TEST(TimelineRows, OnlyATraceIsEnough) {
  TimelineSource source = source_of(two_by_two(), true);
  source.program = nullptr;
  source.predicted = nullptr;
  const TimelineRows rows(source);
  ASSERT_FALSE(rows.rows().empty());
  EXPECT_EQ(rows.instruction({0, 0}), nullptr);
  EXPECT_EQ(row_name(rows, 0).substr(0, 6), "role 0");
  EXPECT_FALSE(slice_facts(rows, {0, 0}).empty());
}

TEST(SliceText, ACommunicationSaysItsBytesAlgorithmAndGroup) {
  const TimelineRows rows(source_of(two_by_two(), false));
  bool found = false;
  for (std::size_t row = 0; row < rows.rows().size() && !found; ++row) {
    for (std::size_t mark = 0; mark < rows.rows()[row].slices.size(); ++mark) {
      if (rows.slice({row, mark}).kind == InstructionKind::kReduce) {
        const std::string tooltip = slice_tooltip(rows, {row, mark});
        EXPECT_NE(tooltip.find("payload"), std::string::npos) << tooltip;
        EXPECT_NE(tooltip.find("algorithm"), std::string::npos);
        EXPECT_NE(tooltip.find("data, 2 ranks"), std::string::npos);
        EXPECT_NE(tooltip.find("10 ns"), std::string::npos);
        found = true;
        break;
      }
    }
  }
  EXPECT_TRUE(found);
}

struct QueryCase {
  const char* text;
  bool forward;  // fits a forward of layer 3, micro-batch 2, rank 5
};
class Query : public ::testing::TestWithParam<QueryCase> {};

TEST_P(Query, AllWordsMustFit) {
  Slice slice;
  slice.kind = InstructionKind::kForward;
  slice.segment = SegmentKind::kAttention;
  slice.layer = 3;
  slice.microbatch = 2;
  slice.rank = Rank(5);
  EXPECT_EQ(SliceQuery(GetParam().text).matches(slice), GetParam().forward) << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(Words, Query,
                         ::testing::Values(QueryCase{"forward", true}, QueryCase{"FORW l3", true},
                                           QueryCase{"layer3", true}, QueryCase{"attention mb2", true},
                                           QueryCase{"mb3", false}, QueryCase{"l33", false},
                                           QueryCase{"rank5 compute", true}, QueryCase{"rank4", false},
                                           QueryCase{"reduce", false}));

TEST(SliceText, EveryKindHasANameALetterAndAMeaning) {
  std::set<std::string> letters;
  for (int i = 0; i < kInstructionKinds; ++i) {
    const auto kind = static_cast<InstructionKind>(i);
    EXPECT_FALSE(kind_name(kind).empty());
    EXPECT_GT(kind_meaning(kind).size(), 15U);
    EXPECT_TRUE(letters.insert(kind_letter(kind)).second) << kind_letter(kind);
  }
}

}  // namespace
}  // namespace trainyard::gui
