#include "core/document/nearest_name.h"

#include <gtest/gtest.h>

#include <vector>

namespace trainyard {
namespace {

TEST(EditDistance, CountsInsertedDeletedAndReplacedLetters) {
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);  // k->s, e->i, +g
  EXPECT_EQ(edit_distance("tensor", "tensor"), 0);
  EXPECT_EQ(edit_distance("paln", "plan"), 1);  // a swap
}

TEST(NearestName, FindsATypingMistakeButNotAnotherWord) {
  const std::vector<std::string> names = {"tensor", "pipeline", "data"};
  EXPECT_EQ(nearest_name("tenosr", names), "tensor");
  EXPECT_EQ(nearest_name("pipline", names), "pipeline");
  EXPECT_EQ(nearest_name("colour", names), std::nullopt);
}

}  // namespace
}  // namespace trainyard
