// What a layout's words are about.
#include "core/layout/layout_text.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

TEST(WordSubject, IsWhatStandsBeforeTheValue) {
  EXPECT_EQ(word_subject("tp4"), "tp");
  EXPECT_EQ(word_subject("etp2"), "etp");
  EXPECT_EQ(word_subject("recompute-full"), "recompute");
  EXPECT_EQ(word_subject("recompute-selective"), "recompute");
  EXPECT_EQ(word_subject("layers-2,3x4"), "layers");
  EXPECT_EQ(word_subject("bucket-25MiB"), "bucket");
  EXPECT_EQ(word_subject("compute-bf16"), "compute");
}

// The degree and the kind of context parallelism are two questions.
TEST(WordSubject, OfAKindIsNotThatOfItsDegree) {
  EXPECT_EQ(word_subject("cp2"), "cp");
  EXPECT_EQ(word_subject("cp-ring"), "cp kind");
  EXPECT_EQ(word_subject("cp-ulysses"), word_subject("cp-all-gather"));
  EXPECT_EQ(word_subject("tp-cp-ep-dp-pp"), "rank order");
  EXPECT_EQ(word_subject("cp-tp-ep-dp-pp"), "rank order");
}

// "1f1b" begins with a number that is none; switches have no value.
TEST(WordSubject, OfASchedulesNameIsNothingAndOfASwitchItself) {
  EXPECT_EQ(word_subject("1f1b"), "");
  EXPECT_EQ(word_subject("interleaved"), "");
  EXPECT_EQ(word_subject("sp"), "sp");
  EXPECT_EQ(word_subject("offload-optimizer"), "offload-optimizer");
  EXPECT_EQ(word_subject("overlap-tp"), "overlap-tp");
}

}  // namespace
}  // namespace trainyard
