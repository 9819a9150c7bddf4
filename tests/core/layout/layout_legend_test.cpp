#include "core/layout/layout_legend.h"

#include <gtest/gtest.h>

namespace trainyard {

TEST(LayoutLegend, ExplainsTheWordsThatOccurAndNoOthers) {
  // "1f1b" begins with a digit and "zero1" ends in one: only numbers at the end are left off.
  const std::string text = layout_legend({"dp2 zero1 mbs1 ga8", "pp2 1f1b mbs1 ga16"});
  for (const char* word : {"dpN: ", "zeroN: ", "mbsN: ", "gaN: ", "ppN: ", "1f1b: "}) {
    EXPECT_NE(text.find(word), std::string::npos) << word << "not in: " << text;
  }
  for (const char* word : {"tpN", "gpipe", "recompute", "no-overlap"}) {
    EXPECT_EQ(text.find(word), std::string::npos) << word << " in: " << text;
  }
}

TEST(LayoutLegend, IsEmptyForNoLayouts) { EXPECT_EQ(layout_legend({}), ""); }

}  // namespace trainyard
