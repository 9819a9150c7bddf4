#include "core/plan/run_record.h"
#include "core/plan/steps_beside_saves.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/error_of.h"
#include "tests/support/temporary_folder.h"

namespace trainyard {
namespace {

RunHeader header() {
  return {.plan_hash = "p",
          .program_hash = "q",
          .device = "cpu",
          .ranks = 2,
          .threads_per_rank = 3,
          .provenance = {.tool = "trainyard", .version = "1", .inputs = {{"data", "h"}}}};
}

StepRecord step(std::int64_t number) {
  return {.step = number,
          .loss = 5.5,
          .gradient_norm = 1.25,
          .learning_rate = 3e-4,
          .step_time = from_si<Seconds>(0.1),
          .between_time = from_si<Seconds>(0.002),
          .tokens_per_second = 1e5,
          .mfu = 0.4,
          .resident = ByteCount(123456789)};
}

RunRecord read(const std::string& text) {
  const TemporaryFolder folder;
  return read_run_record(folder.write("run.jsonl", text));
}

TEST(RunRecord, ReadsBackWhatItWrites) {
  RankCounts counts;
  counts.rank = Rank(1);
  counts.volumes.flops = FlopCount(1LL << 60);
  for (int k = 0; k < kCommunicationKinds; ++k) {
    counts.volumes.sent[static_cast<std::size_t>(k)] = ByteCount(100 + k);
    counts.volumes.messages[static_cast<std::size_t>(k)] = k;
  }
  counts.buffers_allocated = ByteCount(1);
  counts.resident_peak = ByteCount(2);
  counts.replayed_steps = 8;
  const EvaluationRecord evaluation{.step = 1, .loss = 2.5, .unigram_entropy = 3.1, .tokens = 4096};
  const RunRecord record = read(to_json_line(header()) + to_json_line(step(0)) + to_json_line(step(1)) +
                                to_json_line(evaluation) + to_json_line(counts) + end_json_line(std::nullopt));
  EXPECT_TRUE(record.complete);
  EXPECT_FALSE(record.failure.has_value());
  EXPECT_EQ(record.header.ranks, 2);
  EXPECT_EQ(record.header.threads_per_rank, 3);
  EXPECT_EQ(record.header.provenance, header().provenance);
  ASSERT_EQ(record.steps.size(), 2U);
  EXPECT_EQ(to_json_line(record.steps[1]), to_json_line(step(1)));
  ASSERT_EQ(record.evaluations.size(), 1U);
  EXPECT_EQ(to_json_line(record.evaluations[0]), to_json_line(evaluation));
  ASSERT_EQ(record.counts.size(), 1U);
  EXPECT_EQ(record.counts[0].volumes, counts.volumes);
  EXPECT_EQ(to_json_line(record.counts[0]), to_json_line(counts));
  EXPECT_EQ(record.counts[0].replayed_steps, 8);
}

// Steps 0 to 4 done, checkpoint after 3, evaluations after 2 and 4; a failure, and on from step 3. Steps 3 and 4 were
// lost.
TEST(RunRecord, AfterARestartCountsEachStepOnce) {
  const SaveRecord save{.step = 3,
                        .failure = "",
                        .blocking_time = from_si<Seconds>(0.25),
                        .save_time = from_si<Seconds>(1.5),
                        .bytes = ByteCount(99)};
  SaveRecord failed = save;
  failed.failure = "rank 1: the disk is full";
  const FailureRecord failure{.generation = 0,
                              .failure = {.rank = Rank(1), .step = 5, .cause = "killed", .last_lines = {}},
                              .at = from_si<Seconds>(12),
                              .detection_time = from_si<Seconds>(0.5)};
  const RestartRecord restart{
      .generation = 1, .step = 3, .load_time = from_si<Seconds>(0.125), .restart_time = from_si<Seconds>(2)};
  const auto evaluation = [](std::int64_t after) {
    return to_json_line(EvaluationRecord{.step = after, .loss = 2.5, .unigram_entropy = 3.1, .tokens = 4096});
  };
  const std::string before = to_json_line(header()) + to_json_line(step(0)) + to_json_line(step(1)) + evaluation(2) +
                             to_json_line(step(2)) + to_json_line(save) + to_json_line(step(3)) + evaluation(4) +
                             to_json_line(step(4)) + to_json_line(failed);
  const std::string after = to_json_line(restart) + to_json_line(step(3)) + evaluation(4) + to_json_line(step(4)) +
                            end_json_line(std::nullopt, from_si<Seconds>(20));
  const RunRecord record = read(before + to_json_line(failure) + after);
  ASSERT_EQ(record.steps.size(), 5U);
  for (std::int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(record.steps[static_cast<std::size_t>(i)].step, i);
  }
  EXPECT_EQ(record.evaluations.size(), 2U);
  EXPECT_EQ(record.lost_steps, 2);
  EXPECT_NEAR(record.lost_time.si(), 0.2, 1e-12);
  EXPECT_NEAR(record.useful_time().si(), 0.5, 1e-12);
  EXPECT_EQ(record.wall_time, from_si<Seconds>(20));
  ASSERT_EQ(record.saves.size(), 2U);
  EXPECT_EQ(to_json_line(record.saves[1]), to_json_line(failed));
  EXPECT_EQ(to_json_line(record.failures.at(0)), to_json_line(failure));
  EXPECT_EQ(to_json_line(record.restarts.at(0)), to_json_line(restart));
  EXPECT_TRUE(record.complete);

  // Ended by a failure, then resumed: the wall clocks of both launches add up.
  const RunRecord resumed = read(
      before +
      end_json_line(RunFailure{.rank = {}, .step = {}, .cause = "killed", .last_lines = {}}, from_si<Seconds>(15)) +
      after);
  EXPECT_TRUE(resumed.complete);
  EXPECT_FALSE(resumed.failure.has_value());
  EXPECT_EQ(resumed.wall_time, from_si<Seconds>(35));
  EXPECT_EQ(resumed.lost_steps, 2);
}

TEST(RunRecord, KeepsALossThatIsNoLongerFinite) {
  StepRecord diverged = step(0);
  diverged.loss = std::numeric_limits<double>::quiet_NaN();
  diverged.gradient_norm = std::numeric_limits<double>::infinity();
  diverged.mfu = std::nullopt;
  const RunRecord record = read(to_json_line(header()) + to_json_line(diverged));
  EXPECT_TRUE(std::isnan(record.steps.at(0).loss));
  EXPECT_TRUE(std::isnan(record.steps.at(0).gradient_norm));
  EXPECT_EQ(record.steps.at(0).mfu, std::nullopt);
}

TEST(RunRecord, KeepsTheLossScaleOfAStepThatWasSkipped) {
  StepRecord skipped = step(0);
  skipped.loss_scale = 65536;
  skipped.skipped = true;
  const RunRecord record = read(to_json_line(header()) + to_json_line(skipped) + to_json_line(step(1)));
  EXPECT_EQ(record.steps.at(0).loss_scale, 65536);
  EXPECT_TRUE(record.steps.at(0).skipped);
  EXPECT_EQ(record.steps.at(1).loss_scale, std::nullopt);
  EXPECT_FALSE(record.steps.at(1).skipped);
}

TEST(RunRecord, SaysWhyARunFailed) {
  const RunFailure failure{.rank = Rank(1), .step = 12, .cause = "killed by signal 9", .last_lines = {"a\"b", "c\xFF"}};
  const RunRecord record = read(to_json_line(header()) + end_json_line(failure));
  EXPECT_FALSE(record.complete);
  ASSERT_TRUE(record.failure.has_value());
  EXPECT_EQ(record.failure->rank, Rank(1));
  EXPECT_EQ(record.failure->step, 12);
  EXPECT_EQ(record.failure->cause, "killed by signal 9");
  // The byte that is no UTF-8 becomes U+FFFD.
  EXPECT_EQ(record.failure->last_lines, (std::vector<std::string>{"a\"b", "c\xEF\xBF\xBD"}));
}

TEST(RunRecord, OfAKilledRunEndsAtItsLastWholeLine) {
  const std::string whole = to_json_line(header()) + to_json_line(step(0));
  const std::string last = to_json_line(step(1));
  for (std::size_t length = 0; length < last.size(); ++length) {
    const RunRecord record = read(whole + last.substr(0, length));
    EXPECT_EQ(record.steps.size(), 1U);
    EXPECT_FALSE(record.complete);
  }
}

TEST(RunRecord, NamesTheLineThatIsWrong) {
  const auto problem_at = [](const std::string& text) { return error_of([&] { read(text); }).where(); };
  const std::string good = to_json_line(header());
  EXPECT_TRUE(contains(problem_at(good + "{\"record\": \"step\"\n"), "run.jsonl:2"));
  EXPECT_TRUE(contains(problem_at(good + "{\"record\": \"stop\"}\n"), "run.jsonl:2#/record"));
  EXPECT_TRUE(contains(problem_at(good + good), "run.jsonl:2"));
  EXPECT_TRUE(contains(problem_at(to_json_line(step(0))), "run.jsonl:1"));
  EXPECT_TRUE(contains(problem_at(good + end_json_line({}) + to_json_line(step(0))), "run.jsonl:3"));
  EXPECT_TRUE(contains(problem_at(""), "run.jsonl"));
  std::string unknown = to_json_line(step(0));
  unknown.replace(unknown.find("loss"), 4, "lose");
  EXPECT_TRUE(contains(problem_at(good + unknown), "run.jsonl:2"));
  std::string newer = good;
  newer.replace(newer.find("\"schema\":1"), 10, "\"schema\":2");
  EXPECT_TRUE(contains(problem_at(newer), "run.jsonl:1#/schema"));
}

// Ten steps of 0.1 s, but 0.16 and 0.12 s beside the save after 4 steps, which takes 0.2 s to write: steps 4 and 5.
TEST(StepsBesideSaves, TakeTheirExcessFromTheOthersMean) {
  RunRecord record;
  for (std::int64_t i = 0; i < 10; ++i) {
    StepRecord step;
    step.step = i;
    step.step_time = from_si<Seconds>(i == 4 ? 0.16 : i == 5 ? 0.12 : 0.1);
    record.steps.push_back(step);
  }
  SaveRecord save;
  save.step = 4;
  save.blocking_time = from_si<Seconds>(0.01);
  save.save_time = from_si<Seconds>(0.2);
  record.saves = {save};
  const StepsBesideSaves beside = steps_beside_saves(record);
  EXPECT_NEAR(beside.undisturbed.si(), 0.1, 1e-12);
  ASSERT_EQ(beside.slowed.size(), 1U);
  EXPECT_NEAR(beside.slowed[0].si(), 0.08, 1e-12);
  EXPECT_NEAR(record.useful_time().si(), 1.0, 1e-12);

  // 2 ms pass between steps, but 18 before step 4, of which 10 are the snapshot, and 5 before step 5: 6 + 3 more.
  for (StepRecord& step : record.steps) {
    if (step.step > 0) {
      step.between_time = from_si<Seconds>(step.step == 4 ? 0.018 : step.step == 5 ? 0.005 : 0.002);
    }
  }
  EXPECT_NEAR(steps_beside_saves(record).slowed[0].si(), 0.08 + 0.006 + 0.003, 1e-12);
  // Had training waited, 0.21 s and a rest of 4 ms would have passed before step 4; steps take what they take.
  record.saves[0].blocking_time = from_si<Seconds>(0.21);
  record.steps[4].between_time = from_si<Seconds>(0.216);
  record.steps[5].between_time = from_si<Seconds>(0.002);
  EXPECT_NEAR(steps_beside_saves(record).slowed[0].si(), 0.004, 1e-12);
  for (StepRecord& step : record.steps) {
    step.between_time.reset();
  }

  // One that training waits for has no step beside it.
  record.saves[0].blocking_time = from_si<Seconds>(0.21);
  EXPECT_NEAR(steps_beside_saves(record).slowed[0].si(), 0.0, 1e-12);
}

}  // namespace
}  // namespace trainyard
