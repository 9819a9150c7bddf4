#include "cli/text/table.h"

#include <gtest/gtest.h>

namespace trainyard::cli {

TEST(Table, AlignsWordsLeftAndNumbersRightTwoSpacesApart) {
  Table table({"kind", "time"}, {Align::kLeft, Align::kRight});
  table.add_row({"forward", "12.1 ms"});
  table.add_row({"send", "3 us"});
  EXPECT_EQ(table.text(Style()),
            "kind        time\n"
            "forward  12.1 ms\n"
            "send        3 us\n");
}

TEST(Table, LeavesNoBlanksAtTheEndOfALineAndRulesAcrossAllColumns) {
  Table table({"a", "note"}, {Align::kLeft, Align::kLeft});
  table.add_row({"x"});
  table.add_rule();
  table.add_row({"total", "ok"});
  EXPECT_EQ(table.text(Style(), 2),
            "  a      note\n"
            "  x\n"
            "  -----------\n"
            "  total  ok\n");
}

TEST(Table, CountsCodePointsNotBytes) { EXPECT_EQ(display_width("\xc2\xb5s"), 2); }

TEST(Wrap, BreaksBetweenWordsAndIndentsWhatFollows) {
  EXPECT_EQ(wrap("one two three", 9, 2), "one two\n  three");
  EXPECT_EQ(wrap("unbreakableword", 5, 0), "unbreakableword");
  EXPECT_EQ(wrap("", 5, 0), "");
}

}  // namespace trainyard::cli
