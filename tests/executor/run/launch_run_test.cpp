// Runs of real processes: what they leave in the run's folder, and how they end.
#include "executor/run/launch_run.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <thread>

#include "core/plan/trace.h"
#include "executor/checkpoint/model_weights.h"
#include "executor/run/run_files.h"
#include "executor/run/run_folder.h"
#include "tests/executor/run/run_support.h"
#include "tests/executor/worker/layout_cases.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_folder.h"

namespace trainyard::executor {

namespace {

Plan two_stage_plan() {
  Layout layout;
  layout.pipeline = 2;
  layout.data = 2;
  layout.zero_stage = 1;
  layout.accumulation = 4;
  Plan plan = small_plan(layout);
  plan.training.learning_rate = 3e-3;
  plan.training.steps = 12;
  return plan;
}

RunOptions options_in(const TemporaryFolder& folder) {
  RunOptions options;
  options.folder = folder.path() / "run";
  options.data = folder.write("text.txt", pseudo_text(20000));
  options.evaluate_every = 5;
  return options;
}

}  // namespace

TEST(LaunchRun, LeavesRecordTraceAndModel) {
  const TemporaryFolder folder;
  const Plan plan = two_stage_plan();
  const RunOptions options = options_in(folder);
  const RunFiles files{options.folder};
  int lines = 0;
  const RunOutcome outcome =
      launch_run(plan, options, RANK_PROCESS,
                 {.on_record = [&](const std::string&) { ++lines; }, .on_message = {}, .on_notice = {}});
  ASSERT_TRUE(outcome.ok()) << outcome.failure->cause;

  const RunRecord record = read_run_record(files.record());
  EXPECT_TRUE(record.complete);
  ASSERT_EQ(record.steps.size(), 12U);
  EXPECT_LT(record.steps.back().loss, record.steps.front().loss - 0.5);
  EXPECT_GT(record.steps.back().tokens_per_second, 0.0);
  ASSERT_EQ(record.evaluations.size(), 3U);  // after 5, 10 and all 12 steps
  EXPECT_EQ(record.evaluations[0].step, 5);
  EXPECT_EQ(record.evaluations[2].step, 12);
  EXPECT_LT(record.evaluations[2].loss, record.evaluations[0].loss);
  EXPECT_EQ(lines, 1 + 12 + 3 + 4);  // header, steps, evaluations, counts; the launcher writes the end itself

  const Program program = compile(plan);
  EXPECT_EQ(record.header.program_hash, program.hash);
  ASSERT_EQ(record.counts.size(), 4U);
  std::size_t instructions = 0;
  for (const RankCounts& counts : record.counts) {
    const Role& role = program.role_of(counts.rank);
    EXPECT_EQ(counts.volumes, volumes(role));
    EXPECT_EQ(counts.buffers_allocated, role.arena_bytes + role.persistent_bytes);
    EXPECT_GT(counts.resident_peak, counts.buffers_allocated);
    instructions += role.instructions.size();
  }

  const Trace trace = read_trace(files.trace());
  EXPECT_FALSE(trace.simulated);
  EXPECT_EQ(trace.program_hash, program.hash);
  EXPECT_EQ(trace.slices.size(), instructions);
  EXPECT_GE(trace.step, 9);  // one of the last three
  for (const Slice& slice : trace.slices) {
    EXPECT_GE(slice.begin, 0);
    EXPECT_LE(slice.begin, slice.end);
    EXPECT_LE(slice.end, trace.duration);
  }
  EXPECT_FALSE(std::filesystem::exists(files.rank_trace(Rank(0))));

  EXPECT_NO_THROW(open_weights(files.model(), plan.model));
  EXPECT_TRUE(std::filesystem::exists(files.model() / "config.json"));
  EXPECT_TRUE(contains(error_of([&] { launch_run(plan, options, RANK_PROCESS, {}); }).problem(), "isn't empty"));
}

// The first step only warms up, the last three are traced.
TEST(LaunchRun, SaysHowManyStepsWereReplayedAndIfNone) {
  std::string said;
  const auto replayed = [&](const Plan& plan, std::int64_t steps) {
    const TemporaryFolder folder;
    RunOptions options = options_in(folder);
    options.graphs = true;
    options.save_model = false;
    options.steps = steps;
    said.clear();
    const RunOutcome outcome = launch_run(
        plan, options, RANK_PROCESS,
        {.on_record = {}, .on_message = [&](int, const std::string& line) { said += line; }, .on_notice = {}});
    EXPECT_TRUE(outcome.ok());
    return read_run_record(RunFiles{options.folder}.record()).counts.at(0).replayed_steps;
  };
  Layout layout;
  layout.accumulation = 8;
  Plan alone = small_plan(layout);
  alone.training.steps = 12;
  EXPECT_EQ(replayed(alone, 12), 8);
  EXPECT_FALSE(contains(said, "--graphs")) << said;
  EXPECT_EQ(replayed(alone, 4), 0);
  EXPECT_TRUE(contains(said, "no step was replayed") && contains(said, "not traced")) << said;
  layout.tensor = 2;
  EXPECT_EQ(replayed(small_plan(layout), 6), 0);
  EXPECT_TRUE(contains(said, "too little of a step")) << said;
}

// The loss of the first step after --init is that of the weights where the first run ended.
TEST(LaunchRun, StartsFromSavedWeightsUnderAnotherLayout) {
  const TemporaryFolder folder;
  const Plan plan = two_stage_plan();
  const RunOptions options = options_in(folder);
  ASSERT_TRUE(launch_run(plan, options, RANK_PROCESS, {}).ok());
  const RunRecord first = read_run_record(RunFiles{options.folder}.record());

  Plan other = plan;
  other.layout = Layout{};
  other.layout.tensor = 2;
  other.layout.accumulation = 8;
  RunOptions again = options;
  again.folder = folder.path() / "again";
  const std::filesystem::path model = RunFiles{options.folder}.model();
  again.initial_weights = std::filesystem::relative(model);
  ASSERT_TRUE(again.initial_weights->is_relative());
  again.steps = 1;
  again.evaluate_every.reset();
  other.training.learning_rate = 1e-30;  // so that the evaluation after the step sees the same weights
  ASSERT_TRUE(launch_run(other, again, RANK_PROCESS, {}).ok());
  const RunRecord second = read_run_record(RunFiles{again.folder}.record());
  ASSERT_EQ(second.evaluations.size(), 1U);
  EXPECT_NEAR(second.evaluations[0].loss, first.evaluations.back().loss, 1e-5);
  // The record says where the weights lie to whoever reads it, from anywhere.
  const std::filesystem::path recorded = second.header.provenance.inputs.at(kInitialWeightsInput);
  EXPECT_TRUE(recorded.is_absolute()) << recorded;
  EXPECT_TRUE(std::filesystem::equivalent(recorded, model)) << recorded;
}

TEST(LaunchRun, ARankThatDiesEndsTheRunWithItsNumberAndStep) {
  const TemporaryFolder folder;
  Plan plan = two_stage_plan();
  plan.training.steps = 100000;
  RunOptions options = options_in(folder);
  options.evaluate_every.reset();
  int lines = 0;
  std::chrono::steady_clock::time_point killed;
  const RunCallbacks callbacks{.on_record =
                                   [&](const std::string&) {
                                     if (++lines == 4) {  // header and three steps
                                       const auto pid = process_of_rank(2);
                                       ASSERT_TRUE(pid.has_value());
                                       killed = std::chrono::steady_clock::now();
                                       ::kill(*pid, SIGKILL);
                                     }
                                   },
                               .on_message = {},
                               .on_notice = {}};
  const RunOutcome outcome = launch_run(plan, options, RANK_PROCESS, callbacks);
  EXPECT_LT(std::chrono::steady_clock::now() - killed, std::chrono::seconds(2));
  ASSERT_TRUE(outcome.failure.has_value());
  EXPECT_EQ(outcome.failure->rank, Rank(2));
  EXPECT_TRUE(contains(outcome.failure->cause, "SIGKILL")) << outcome.failure->cause;
  const RunRecord record = read_run_record(RunFiles{options.folder}.record());
  ASSERT_TRUE(record.failure.has_value());
  EXPECT_EQ(record.failure->rank, Rank(2));
  EXPECT_GE(record.failure->step.value_or(0), 3);
  EXPECT_FALSE(record.complete);
}

// A shell stands for srun: it says where it would start the rank.
TEST(LaunchRun, RanksOfOtherHostsAreStartedByACommandAndKnowTheirPlace) {
  const TemporaryFolder folder;
  const Plan plan = two_stage_plan();
  RunOptions options = options_in(folder);
  options.steps = 2;
  options.save_model = false;
  options.hosts = {.names = {"one", "two"},
                   .start_on = {"/bin/sh", "-c", R"(echo "$TRAINYARD_LOCAL_RANK on $0" >&2; exec "$@")", "{host}"}};
  std::map<int, std::string> said;
  const RunOutcome outcome =
      launch_run(plan, options, RANK_PROCESS,
                 {.on_record = {},
                  .on_message = [&](int rank, const std::string& line) { said.emplace(rank, line); },
                  .on_notice = {}});
  ASSERT_TRUE(outcome.ok()) << outcome.failure->cause;
  EXPECT_EQ(said, (std::map<int, std::string>{{0, "0 on one"}, {1, "1 on one"}, {2, "0 on two"}, {3, "1 on two"}}));
  options.hosts.names.push_back("three");
  EXPECT_TRUE(contains(error_of([&] { launch_run(plan, options, RANK_PROCESS, {}); }).problem(), "evenly"));
  EXPECT_EQ(address_towards("127.0.0.1"), "127.0.0.1");
}

TEST(LaunchRun, WhatCannotRunIsSaidBeforeAnythingStarts) {
  const TemporaryFolder folder;
  const RunOptions options = options_in(folder);
  RunOptions absent = options;
  absent.data = folder.path() / "absent.txt";
  EXPECT_TRUE(contains(error_of([&] { launch_run(two_stage_plan(), absent, RANK_PROCESS, {}); }).what(), "absent.txt"));
  Plan half = two_stage_plan();
  half.layout.compute_type = DataType::kBf16;
  EXPECT_TRUE(contains(error_of([&] { launch_run(half, options, RANK_PROCESS, {}); }).problem(), "can't run"));
  Plan small_vocabulary = two_stage_plan();
  small_vocabulary.model.vocabulary = 200;
  EXPECT_TRUE(contains(error_of([&] { launch_run(small_vocabulary, options, RANK_PROCESS, {}); }).problem(), "bytes"));
  EXPECT_FALSE(std::filesystem::exists(options.folder));
}

// Replacing removes the earlier run last of all, when nothing else can be wrong with the new one.
TEST(LaunchRun, ARunThatCannotStartLeavesTheEarlierOneAlone) {
  const TemporaryFolder folder;
  RunOptions options = options_in(folder);
  options.replace = true;
  const RunFiles files{options.folder};
  std::filesystem::create_directories(options.folder);
  folder.write("run/record.jsonl", "an earlier run");
  ASSERT_TRUE(std::filesystem::exists(files.record()));
  options.data = folder.path() / "absent.txt";
  EXPECT_THROW(launch_run(two_stage_plan(), options, RANK_PROCESS, {}), Error);
  EXPECT_TRUE(std::filesystem::exists(files.record()));
}

TEST(LaunchRun, ReplacingTheRunThatTheNewOneBeginsWithIsRefused) {
  const TemporaryFolder folder;
  RunOptions options = options_in(folder);
  options.steps = 1;
  ASSERT_TRUE(launch_run(two_stage_plan(), options, RANK_PROCESS, {}).ok());
  const RunFiles files{options.folder};
  options.replace = true;
  options.initial_weights = files.model();
  const auto refusal = [&] { return error_of([&] { launch_run(two_stage_plan(), options, RANK_PROCESS, {}); }); };
  EXPECT_EQ(refusal().where(), "--init");
  options.initial_weights.reset();
  options.data = files.record();
  EXPECT_EQ(refusal().where(), "--data");
  EXPECT_TRUE(std::filesystem::exists(files.model() / "model.safetensors"));
  EXPECT_TRUE(std::filesystem::exists(files.record()));
}

// The weights' last name is taken by a folder, so that they can't be given it: what was written of them goes.
TEST(LaunchRun, WeightsThatCannotBeSavedLeaveNoPartOfThem) {
  const TemporaryFolder folder;
  RunOptions options = options_in(folder);
  options.steps = 1;
  const RunFiles files{options.folder};
  bool blocked = false;
  const RunCallbacks callbacks{
      .on_record =
          [&](const std::string&) {
            blocked = blocked || std::filesystem::create_directories(files.model() / "model.safetensors" / "taken");
          },
      .on_message = {},
      .on_notice = {}};
  const RunOutcome outcome = launch_run(two_stage_plan(), options, RANK_PROCESS, callbacks);
  ASSERT_TRUE(blocked);
  ASSERT_TRUE(outcome.failure);
  EXPECT_TRUE(contains(outcome.failure->last_lines.back(), "--no-model")) << outcome.failure->last_lines.back();
  EXPECT_FALSE(std::filesystem::exists(files.model() / "model.safetensors.partial"));
}

TEST(LaunchRun, AStartThatFailsLeavesTheFolderAsItWas) {
  const TemporaryFolder folder;
  const RunOptions options = options_in(folder);
  EXPECT_THROW(launch_run(two_stage_plan(), options, "/no/such/program", {}), Error);
  EXPECT_FALSE(std::filesystem::exists(RunFiles{options.folder}.plan()));
  EXPECT_NO_THROW(RunFolder(RunFiles{options.folder}, FolderUse::kNew));
  // A plan that was there before stays.
  write_plan(two_stage_plan(), RunFiles{options.folder}.plan());
  RunOptions going_on = options;
  going_on.resume = going_on.or_begin = true;
  EXPECT_THROW(launch_run(two_stage_plan(), going_on, "/no/such/program", {}), Error);
  EXPECT_TRUE(std::filesystem::exists(RunFiles{options.folder}.plan()));
}

TEST(RunFolder, IsHeldByOneRunAtATime) {
  const TemporaryFolder folder;
  const RunFiles files{folder.path() / "run"};
  {
    const RunFolder first(files, FolderUse::kNew);
    for (const FolderUse use : {FolderUse::kNew, FolderUse::kReplace}) {
      const Error error = error_of([&] { const RunFolder second(files, use); });
      EXPECT_TRUE(contains(error.problem(), "another run")) << error.what();
    }
  }
  EXPECT_NO_THROW(RunFolder(files, FolderUse::kNew)) << "the lock goes with its holder";
}

TEST(RunFolder, ReplacesARunButNothingElse) {
  const TemporaryFolder folder;
  const RunFiles files{folder.path()};
  folder.write("thesis.tex", "important");
  EXPECT_TRUE(contains(error_of([&] { const RunFolder run(files, FolderUse::kReplace); }).problem(), "holds no run"));
  folder.write("plan.json", "{}");
  EXPECT_TRUE(contains(error_of([&] { const RunFolder run(files, FolderUse::kNew); }).problem(), "isn't empty"));
  EXPECT_NO_THROW(RunFolder(files, FolderUse::kReplace));
  EXPECT_FALSE(std::filesystem::exists(files.plan()));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "thesis.tex"));
}

// Of an existing file: tidy, but for a ".." that a link makes lead elsewhere. Of another: as it was given, whole.
TEST(WholePath, LeadsToTheSameFileFromAnyFolder) {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  const fs::path root = folder.path();
  fs::create_directories(root / "far" / "deep");
  fs::create_directories(root / "weights");
  fs::create_directory_symlink(root / "far" / "deep", root / "link");
  EXPECT_EQ(whole_path(fs::relative(root / "weights")), fs::canonical(root / "weights"));
  EXPECT_EQ(whole_path(root / "." / "far" / ".." / "weights" / ""), root / "weights");
  EXPECT_EQ(whole_path(root / "link"), root / "link");
  EXPECT_EQ(whole_path(root / "link" / ".." / "deep"), root / "link" / ".." / "deep");  // far/deep; there is no deep
  EXPECT_EQ(whole_path("no/such/folder"), fs::current_path() / "no/such/folder");
  EXPECT_EQ(whole_path(""), "");
}

TEST(RunOptions, SurviveTheTripThroughArguments) {
  RunOptions options;
  options.folder = "a folder";
  options.data = "text";
  options.initial_weights = "weights";
  options.steps = 7;
  options.threads_per_rank = 3;
  options.traced_steps = 0;
  options.evaluate_every = 2;
  options.evaluation_batches = 5;
  options.peak_rate = from_si<FlopsPerSecond>(1.2345678901234567e11);
  options.save_model = false;
  EXPECT_EQ(to_arguments(from_arguments(to_arguments(options))), to_arguments(options));
  EXPECT_EQ(from_arguments(to_arguments(options)).peak_rate->si(), options.peak_rate->si());
  EXPECT_TRUE(contains(error_of([] {
                         from_arguments({"--folder", "f", "--data", "d", "--steps", "x"});
                       }).where(),
                       "--steps"));
  EXPECT_TRUE(contains(error_of([] { from_arguments({}); }).what(), "--folder"));
}

}  // namespace trainyard::executor
