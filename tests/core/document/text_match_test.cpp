#include "core/document/text_match.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

TEST(TextMatch, CaseOfAsciiLettersOnly) {
  EXPECT_EQ(lower_case("DGX H100-SXM5 \xC3\x84"), "dgx h100-sxm5 \xC3\x84");
  EXPECT_TRUE(contains("gb200", "b200"));
  EXPECT_TRUE(contains("x", ""));
  EXPECT_FALSE(contains("", "x"));
}

}  // namespace
}  // namespace trainyard
