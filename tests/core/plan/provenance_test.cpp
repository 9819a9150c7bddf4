#include "core/plan/provenance.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

// XXH3 128-bit of no bytes, from xxHash's own test values.
TEST(ContentHash, IsXxh3Of128Bits) {
  EXPECT_EQ(content_hash(""), "xxh128:99aa06d3014798d86001c324468d497f");
  EXPECT_NE(content_hash("a"), content_hash("b"));
}

TEST(ToolVersion, IsAVersion) { EXPECT_NE(tool_version().find('.'), std::string_view::npos); }

}  // namespace
}  // namespace trainyard
