// The study as a document: read, written, undone, kept through a crash.
#include "gui/session/study.h"

#include <gtest/gtest.h>

#include <QDir>
#include <QSignalSpy>

#include "core/document/read_file.h"
#include "core/error.h"
#include "gui/session/examples.h"
#include "gui/session/study_document.h"
#include "tests/gui/support.h"
#include "tests/support/error_of.h"

namespace trainyard::gui {
namespace {

Study full_study() {
  Study study = example_studies(2).at(1).study;
  study.limits.tensor = 8;
  study.limits.schedule = "1f1b";
  study.limits.offload = true;
  study.starred = {"tp8 dp128 mbs1 ga4"};
  study.runs = {"/runs/first"};
  study.accelerator = "h100-sxm";
  return study;
}

TEST(Study, IsReadBackAsItWasWritten) {
  EXPECT_EQ(parse_study(to_json(full_study()), "study"), full_study());
  for (const Example& example : example_studies(4)) {
    EXPECT_EQ(parse_study(to_json(example.study), "study"), example.study);
  }
}

TEST(Study, NamesFilesBesideItRelativeToItself) {
  const TestFolder folder;
  Study study = full_study();
  study.model = folder.write("config.json", "{}");
  write_study(study, folder.path("mine.study.json"));
  EXPECT_NE(to_json(study).find(study.model), std::string::npos);
  const std::string written = read_text_file(folder.path("mine.study.json"));
  EXPECT_NE(written.find("\"model\": \"config.json\""), std::string::npos) << written;
  EXPECT_EQ(read_study(folder.path("mine.study.json")), study);
}

TEST(Study, SaysWhatIsWrongAndWhere) {
  const auto where = [](const std::string& text) { return error_of([&] { parse_study(text, "s.json"); }).where(); };
  EXPECT_EQ(where(R"({"document": "study", "schema": 1, "model": 3})"), "s.json#/model");
  EXPECT_TRUE(contains(where(R"({"document": "study", "schema": 1, "model": "a", "machine": "b", "ranks": 1,
                                 "sequence": 1, "global_batch": 1, "rnks": 2})"),
                       "rnks"));
  EXPECT_TRUE(contains(where(R"({"document": "plan"})"), "s.json"));
  EXPECT_TRUE(contains(where("{"), "s.json"));
}

TEST(StudyDocument, UndoesAndRedoesEachEditByName) {
  StudyDocument document;
  QSignalSpy inputs(&document, &StudyDocument::inputs_changed);
  const Study before = document.study();
  document.edit(Field::kRanks, "change Ranks", [](Study& study) { study.ranks = 128; });
  document.edit(Field::kModel, "change Model", [](Study& study) { study.model = "gpt2"; });
  EXPECT_EQ(document.undo_stack().count(), 2);
  EXPECT_EQ(document.undo_stack().undoText(), "change Model");
  document.undo_stack().undo();
  EXPECT_EQ(document.study().model, before.model);
  EXPECT_EQ(document.study().ranks, 128);
  document.undo_stack().undo();
  EXPECT_EQ(document.study(), before);
  EXPECT_FALSE(document.modified());
  document.undo_stack().redo();
  document.undo_stack().redo();
  EXPECT_EQ(document.study().model, "gpt2");
  EXPECT_EQ(inputs.count(), 6);
}

TEST(StudyDocument, TypingIntoOneFieldIsOneStepAndNoChangeIsNone) {
  StudyDocument document;
  for (const std::int64_t typed : {1, 12, 128}) {
    document.edit(Field::kRanks, "change Ranks", [&](Study& study) { study.ranks = typed; });
  }
  EXPECT_EQ(document.undo_stack().count(), 1);
  document.edit(Field::kRanks, "change Ranks", [](Study&) {});
  EXPECT_EQ(document.undo_stack().count(), 1);
  document.undo_stack().undo();
  EXPECT_EQ(document.study().ranks, Study().ranks);
}

TEST(StudyDocument, StarsAskNothingNewOfTheSearch) {
  StudyDocument document;
  QSignalSpy inputs(&document, &StudyDocument::inputs_changed);
  QSignalSpy any(&document, &StudyDocument::study_changed);
  document.edit(Field::kMarks, "star a plan", [](Study& study) { study.starred.emplace_back("dp1"); });
  EXPECT_EQ(inputs.count(), 0);
  EXPECT_EQ(any.count(), 1);
}

TEST(StudyDocument, IsCleanOnceSavedAndReadsItselfBack) {
  const TestFolder folder;
  StudyDocument document;
  document.edit(Field::kRanks, "change Ranks", [](Study& study) { study.ranks = 8; });
  EXPECT_TRUE(document.modified());
  document.save_to(QString::fromStdString(folder.path("a.study.json")));
  EXPECT_FALSE(document.modified());
  StudyDocument other;
  other.open(QString::fromStdString(folder.path("a.study.json")));
  EXPECT_EQ(other.study(), document.study());
}

TEST(StudyDocument, AnAutosaveOfADeadProcessIsFoundAndOneOfALivingIsNot) {
  const TestFolder folder;
  const QString autosaves = QString::fromStdString(folder.path("autosave"));
  StudyDocument document;
  document.set_autosave_folder(autosaves);
  document.edit(Field::kRanks, "change Ranks", [](Study& study) { study.ranks = 8; });
  document.autosave_now();
  EXPECT_TRUE(StudyDocument::left_behind(autosaves).isEmpty());  // ours: we live
  // As a crash would leave it: of a process number that no Linux gives out.
  write_study(document.study(), folder.path("autosave/autosave-99999999.study.json"));
  ASSERT_EQ(StudyDocument::left_behind(autosaves).size(), 1);
  EXPECT_EQ(read_study(StudyDocument::left_behind(autosaves).front().toStdString()).ranks, 8);
  document.remove_autosave();
  EXPECT_EQ(QDir(autosaves).entryList(QDir::Files).size(), 1);
}

TEST(StudyDocument, WhatACrashLeftIsUnsavedAndAutosavedAtOnce) {
  const TestFolder folder;
  const QString autosaves = QString::fromStdString(folder.path("autosave"));
  StudyDocument document;
  document.set_autosave_folder(autosaves);
  document.replace(full_study(), {});
  EXPECT_FALSE(document.modified());
  document.mark_unsaved();
  EXPECT_TRUE(document.modified());
  EXPECT_EQ(QDir(autosaves).entryList(QDir::Files).size(), 1);
  document.replace(Study(), {});  // another study: the first was saved or given up
  EXPECT_FALSE(document.modified());
  EXPECT_TRUE(QDir(autosaves).entryList(QDir::Files).isEmpty());
}

TEST(StudyDocument, SaysOnceThatItCantAutosave) {
  const TestFolder folder;
  const std::string file = folder.write("a-file", "");
  StudyDocument document;
  document.set_autosave_folder(QString::fromStdString(file + "/autosave"));  // no folder can be made there
  QSignalSpy failed(&document, &StudyDocument::autosave_failed);
  document.autosave_now();
  document.autosave_now();
  ASSERT_EQ(failed.count(), 1);
  EXPECT_TRUE(failed.front().front().toString().contains(QString::fromStdString(file)));
}

// Two windows on one study: the second to save would take the first one's changes away.
TEST(StudyDocument, SeesThatAnotherHasWrittenItsFile) {
  const TestFolder folder;
  const QString file = QString::fromStdString(folder.path("a.study.json"));
  StudyDocument one;
  EXPECT_FALSE(one.changed_on_disk());
  one.save_to(file);
  StudyDocument other;
  other.open(file);
  one.edit(Field::kRanks, "change Ranks", [](Study& study) { study.ranks = 8; });
  EXPECT_FALSE(one.changed_on_disk());
  one.save_to(file);
  EXPECT_FALSE(one.changed_on_disk());
  EXPECT_TRUE(other.changed_on_disk());
  other.open(file);
  EXPECT_FALSE(other.changed_on_disk());
  folder.write("a.study.json", "{");
  EXPECT_TRUE(other.changed_on_disk());
}

}  // namespace
}  // namespace trainyard::gui
