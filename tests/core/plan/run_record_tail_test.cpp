#include "core/plan/run_record_tail.h"

#include <gtest/gtest.h>

#include <string>

#include "core/plan/run_record.h"
#include "tests/support/temporary_folder.h"

namespace trainyard {
namespace {

std::string step(std::int64_t number) { return to_json_line(StepRecord{.step = number}); }

std::string restart(std::int64_t number) {
  return to_json_line(RestartRecord{.generation = 1, .step = number, .load_time = from_si<Seconds>(0.1)});
}

std::string header() { return to_json_line(RunHeader{.device = "cpu", .ranks = 2, .threads_per_rank = 1}); }

std::int64_t done(const std::string& text) {
  const TemporaryFolder folder;
  return steps_done(folder.write("run.jsonl", text));
}

TEST(StepsDone, AreThoseToTheLastStepLine) {
  EXPECT_EQ(done(header()), 0);
  EXPECT_EQ(done(header() + step(0) + step(1)), 2);
  EXPECT_EQ(done(header() + step(0) + step(1) + end_json_line(std::nullopt)), 2);
  EXPECT_EQ(steps_done("/nowhere/run.jsonl"), 0);
}

// A restart goes back: what the lines before it say of later steps is done again.
TEST(StepsDone, GoBackWithARestart) {
  EXPECT_EQ(done(header() + step(0) + step(1) + step(2) + restart(1)), 1);
  EXPECT_EQ(done(header() + step(0) + step(1) + step(2) + restart(1) + step(1)), 2);
}

TEST(StepsDone, LeaveOutALineThatWasCutShort) {
  const std::string last = step(2);
  EXPECT_EQ(done(header() + step(0) + step(1) + last.substr(0, last.size() - 1)), 2);
  EXPECT_EQ(done("\n"), 0);
  EXPECT_EQ(done(""), 0);
}

// More lines of no step at the end than are read at first: further back is looked for.
TEST(StepsDone, AreFoundBehindManyOtherLines) {
  std::string text = header() + step(0) + step(1);
  for (int i = 0; i < 3000; ++i) {
    text += to_json_line(EvaluationRecord{.step = 2, .loss = 1.0, .unigram_entropy = 1.0, .tokens = 1});
  }
  EXPECT_EQ(done(text), 2);
}

// As the whole record has it.
TEST(StepsDone, AgreeWithTheRecordReadWhole) {
  const TemporaryFolder folder;
  std::string text = header();
  for (std::int64_t i = 0; i < 200; ++i) {
    text += step(i % 65 + 10 * (i / 65));
    text += i % 65 == 64 ? restart(10 * (i / 65 + 1)) : "";
    const auto file = folder.write("run.jsonl", text);
    const RunRecord record = read_run_record(file);
    EXPECT_EQ(steps_done(file), record.steps.empty() ? 0 : record.steps.back().step + 1);
  }
}

}  // namespace
}  // namespace trainyard
