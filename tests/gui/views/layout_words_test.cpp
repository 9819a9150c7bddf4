// A layout's words in little room keep what tells it from another.
#include <gtest/gtest.h>

#include "gui/views/layout_words.h"

namespace trainyard::gui {
namespace {

// A letter a pixel, and a blank behind each word.
double letters(const std::vector<LayoutWord>& words) {
  double sum = 0.0;
  for (const LayoutWord& word : words) {
    sum += static_cast<double>(word.text.size()) + 1.0;
  }
  return sum;
}

QString text_of(const std::vector<LayoutWord>& words) {
  QStringList texts;
  for (const LayoutWord& word : words) {
    texts << word.text;
  }
  return texts.join(QLatin1Char(' '));
}

const QString kBest = QStringLiteral("tp4 pp4 dp64 sp zero1 interleaved v10 ga8 overlap-tp");

TEST(LayoutWords, TellWhatTheOtherHasOtherwiseOrAlone) {
  const std::vector<LayoutWord> words =
      layout_words(QStringLiteral("tp8 pp4 dp64 sp zero1 interleaved v10 ga8 cp-all-gather"), kBest);
  ASSERT_EQ(words.size(), 10U);
  EXPECT_EQ(words[0], (LayoutWord{QStringLiteral("tp8"), WordKind::kOwn}));
  EXPECT_EQ(words[1].kind, WordKind::kShared);
  EXPECT_EQ(words[8].kind, WordKind::kOwn);
  EXPECT_EQ(words[9], (LayoutWord{QStringLiteral("no overlap-tp"), WordKind::kLacking}));
}

// "no pp" says it: that there is no schedule either goes without saying, and "1f1b" is about no number.
TEST(LayoutWords, ASchedulesNameIsNotMissed) {
  EXPECT_EQ(text_of(layout_words(QStringLiteral("dp2 mbs1"), QStringLiteral("pp2 1f1b mbs1"))),
            QStringLiteral("dp2 mbs1 no pp"));
  EXPECT_EQ(text_of(layout_words(QStringLiteral("pp2 gpipe mbs1"), QStringLiteral("pp2 1f1b mbs1"))),
            QStringLiteral("pp2 gpipe mbs1"));
}

// Another value of the same is no lack; a value that the other alone has is one.
TEST(LayoutWords, AWordWithAValueBehindADashIsMissedOnlyWhereThereIsNoOtherValue) {
  const auto told = [](const char* own, const char* other) {
    return text_of(layout_words(QString::fromUtf8(own), QString::fromUtf8(other)));
  };
  EXPECT_EQ(told("dp2 recompute-full", "dp2 recompute-selective"), QStringLiteral("dp2 recompute-full"));
  EXPECT_EQ(told("dp2", "dp2 recompute-selective"), QStringLiteral("dp2 no recompute"));
  EXPECT_EQ(told("cp2 cp-ulysses", "cp2 cp-all-gather"), QStringLiteral("cp2 cp-ulysses"));
  EXPECT_EQ(told("cp2", "cp2 cp-ulysses"), QStringLiteral("cp2 no cp-ulysses"));
  EXPECT_EQ(told("pp2 layers-2,3", "pp2 layers-3,2"), QStringLiteral("pp2 layers-2,3"));
  EXPECT_EQ(told("pp2", "pp2 layers-3,2"), QStringLiteral("pp2 even layers"));
  EXPECT_EQ(told("dp2", "dp2 no-overlap"), QStringLiteral("dp2 overlap"));
}

TEST(LayoutWords, OfItselfOrOfNoneAreAllShared) {
  for (const QString& other : {kBest, QString()}) {
    for (const LayoutWord& word : layout_words(kBest, other)) {
      EXPECT_EQ(word.kind, WordKind::kShared) << word.text.toStdString();
    }
  }
}

// 53 letters in 34: shared words go from the end, and both words that differ stay.
TEST(LayoutWords, SharedOnesMakeRoomForThoseThatDiffer) {
  const auto all = layout_words(QStringLiteral("tp4 pp4 dp64 sp zero1 interleaved v5 ga16 overlap-tp"), kBest);
  const auto kept = fitted(all, 34.0, letters);
  EXPECT_EQ(text_of(kept), QStringLiteral("tp4 pp4 dp64 sp zero1 \u2026 v5 ga16 \u2026"));
  EXPECT_EQ(fitted(all, 100.0, letters), all);
}

TEST(LayoutWords, OwnWordsAreNeverLeftOut) {
  const auto kept = fitted(layout_words(QStringLiteral("tp8 pp2"), kBest), 3.0, letters);
  ASSERT_GE(kept.size(), 2U);
  EXPECT_EQ(kept[0].text, QStringLiteral("tp8"));
  EXPECT_EQ(kept[1].text, QStringLiteral("pp2"));
}

}  // namespace
}  // namespace trainyard::gui
