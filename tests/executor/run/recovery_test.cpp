// Runs that lose ranks and go on: the final weights are those of an undisturbed run, bit for bit.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "core/document/read_file.h"
#include "core/plan/largest_loss_scale.h"
#include "executor/run/launch_run.h"
#include "executor/run/run_files.h"
#include "tests/executor/run/run_support.h"
#include "tests/executor/worker/layout_cases.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_folder.h"

namespace trainyard::executor {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

Plan saving_plan(const Layout& layout, OptimizerKind optimizer = OptimizerKind::kAdamW) {
  Plan plan = small_plan(layout, optimizer);
  plan.training.steps = 16;
  plan.checkpoint.every_steps = 4;
  plan.checkpoint.asynchronous = false;  // so that it is known which checkpoints there are
  plan.recovery.restart_limit = 3;
  return plan;
}

RunOptions options_in(const TemporaryFolder& folder, const std::string& run) {
  RunOptions options;
  options.folder = folder.path() / run;
  options.data = folder.write("text.txt", pseudo_text(20000));
  options.traced_steps = 0;
  return options;
}

std::string weights(const RunOptions& options) {
  return read_text_file(RunFiles{options.folder}.model() / "model.safetensors");
}

RunRecord record_of(const RunOptions& options) { return read_run_record(RunFiles{options.folder}.record()); }

bool is_step(const std::string& line, std::int64_t step) {
  return contains(line, R"("record":"step","step":)" + std::to_string(step) + ",");
}

// Kills the rank when a step has been recorded, once.
RunCallbacks killing(int rank, std::int64_t after_step) {
  return {.on_record =
              [=, killed = false](const std::string& line) mutable {
                if (!killed && is_step(line, after_step)) {
                  killed = true;
                  ::kill(process_of_rank(rank).value(), SIGKILL);
                }
              },
          .on_message = {},
          .on_notice = {}};
}

void expect_same_steps(const RunRecord& record, const RunRecord& undisturbed) {
  ASSERT_EQ(record.steps.size(), undisturbed.steps.size());
  for (std::size_t i = 0; i < record.steps.size(); ++i) {
    EXPECT_EQ(record.steps[i].step, undisturbed.steps[i].step);
    EXPECT_EQ(record.steps[i].loss, undisturbed.steps[i].loss) << i;
    EXPECT_EQ(record.steps[i].loss_scale, undisturbed.steps[i].loss_scale) << i;
    EXPECT_EQ(record.steps[i].skipped, undisturbed.steps[i].skipped) << i;
    if (!record.steps[i].skipped) {  // else no number
      EXPECT_EQ(record.steps[i].gradient_norm, undisturbed.steps[i].gradient_norm) << i;
    }
    EXPECT_EQ(record.steps[i].learning_rate, undisturbed.steps[i].learning_rate) << i;
  }
}

struct Case {
  const char* name;
  Layout layout;
  OptimizerKind optimizer = OptimizerKind::kAdamW;
  bool gpt2 = false;
};

std::vector<Case> cases() {
  const auto layout = [](int tensor, int pipeline, int data, int zero) {
    Layout result;
    result.tensor = tensor;
    result.pipeline = pipeline;
    result.data = data;
    result.zero_stage = zero;
    result.micro_batch = 2;
    result.accumulation = 4 / data;
    return result;
  };
  const auto bf16 = [](Layout result) {
    const Layout types = bf16_layout();
    result.compute_type = types.compute_type;
    result.parameter_type = types.parameter_type;
    result.communication_type = types.communication_type;
    return result;
  };
  const auto fp16 = [](Layout result) {
    result.compute_type = result.parameter_type = result.communication_type = DataType::kFp16;
    return result;
  };
  return {{"dp2", layout(1, 1, 2, 0)},
          {"dp2_zero1", layout(1, 1, 2, 1)},
          {"tp2", layout(2, 1, 1, 0)},
          {"pp2", layout(1, 2, 1, 0)},
          {"pp2_dp2_zero1", layout(1, 2, 2, 1)},
          {"dp2_sgd", layout(1, 1, 2, 0), OptimizerKind::kSgd},
          {"one_bf16", bf16(layout(1, 1, 1, 0))},
          {"dp2_zero1_bf16", bf16(layout(1, 1, 2, 1))},
          {"tp2_sgd_bf16", bf16(layout(2, 1, 1, 0)), OptimizerKind::kSgd},
          {"dp2_zero1_fp16", fp16(layout(1, 1, 2, 1))},
          {"tp2_fp16", fp16(layout(2, 1, 1, 0))},
          {"tp2_pp2_gpt2", layout(2, 2, 1, 0), OptimizerKind::kAdamW, true},
          {"pp2_dp2_zero1_bf16_gpt2", bf16(layout(1, 2, 2, 1)), OptimizerKind::kAdamW, true}};
}

class Recovery : public testing::TestWithParam<Case> {};

}  // namespace

// Three runs of 16 steps that save after 4, 8 and 12: one undisturbed, one whose last rank is killed in step 10 or
// soon after, one that stops after 7 and is resumed. Weights and every step's loss and norm must be equal.
TEST_P(Recovery, EndsWithTheUndisturbedRunsWeightsBitForBit) {
  const TemporaryFolder folder;
  Plan plan = saving_plan(GetParam().layout, GetParam().optimizer);
  if (plan.layout.compute_type == DataType::kFp16) {  // skips steps before each checkpoint, and grows after
    plan.training.loss_scaling = {.initial = kLargestLossScale, .growth_steps = 3};
  }
  if (GetParam().gpt2) {
    plan.model = small_gpt2(true);
  }
  const RunOptions undisturbed = options_in(folder, "undisturbed");
  ASSERT_TRUE(launch_run(plan, undisturbed, RANK_PROCESS, {}).ok());

  const RunOptions killed = options_in(folder, "killed");
  const int last = static_cast<int>(plan.layout.ranks()) - 1;
  const RunOutcome outcome = launch_run(plan, killed, RANK_PROCESS, killing(last, 9));
  ASSERT_TRUE(outcome.ok()) << outcome.failure->cause;
  EXPECT_EQ(outcome.restarts, 1);
  EXPECT_TRUE(weights(killed) == weights(undisturbed));
  const RunRecord record = record_of(killed);
  expect_same_steps(record, record_of(undisturbed));
  ASSERT_EQ(record.failures.size(), 1U);
  EXPECT_EQ(record.failures[0].failure.rank, Rank(last));
  ASSERT_EQ(record.restarts.size(), 1U);
  EXPECT_TRUE(record.restarts[0].step == 8 || record.restarts[0].step == 12) << record.restarts[0].step;
  EXPECT_GT(record.lost_steps, 0);

  RunOptions resumed = options_in(folder, "resumed");
  resumed.steps = 7;
  ASSERT_TRUE(launch_run(plan, resumed, RANK_PROCESS, {}).ok());
  resumed.steps.reset();
  resumed.resume = true;
  ASSERT_TRUE(launch_run(plan, resumed, RANK_PROCESS, {}).ok());
  EXPECT_EQ(record_of(resumed).restarts.at(0).step, 7);
  EXPECT_TRUE(weights(resumed) == weights(undisturbed));
  expect_same_steps(record_of(resumed), record_of(undisturbed));
}

INSTANTIATE_TEST_SUITE_P(Layouts, Recovery, testing::ValuesIn(cases()),
                         [](const auto& tested) { return std::string(tested.param.name); });

// Saves in the background: whichever checkpoint is complete when a rank dies will do, even none.
TEST(Restart, AfterBackgroundSavesTheWeightsAreTheSameToo) {
  const TemporaryFolder folder;
  Plan plan = saving_plan(cases()[1].layout);
  const RunOptions undisturbed = options_in(folder, "undisturbed");
  ASSERT_TRUE(launch_run(plan, undisturbed, RANK_PROCESS, {}).ok());
  plan.checkpoint = {.every_steps = 2, .keep = 1, .asynchronous = true};
  const RunOptions killed = options_in(folder, "killed");
  ASSERT_TRUE(launch_run(plan, killed, RANK_PROCESS, killing(0, 11)).ok());
  EXPECT_EQ(record_of(killed).restarts.size(), 1U);
  EXPECT_TRUE(weights(killed) == weights(undisturbed));
}

TEST(Restart, ADeadRankIsNoticedInUnderASecond) {
  const TemporaryFolder folder;
  Plan plan = saving_plan(cases()[1].layout);
  plan.training.steps = 100000;
  plan.recovery.restart_limit = 0;
  std::optional<Clock::time_point> killed;
  const RunCallbacks callbacks{.on_record =
                                   [&](const std::string& line) {
                                     if (!killed && is_step(line, 5)) {
                                       killed = Clock::now();
                                       ::kill(process_of_rank(1).value(), SIGKILL);
                                     }
                                   },
                               .on_message = {},
                               .on_notice = {}};
  const RunOutcome outcome = launch_run(plan, options_in(folder, "run"), RANK_PROCESS, callbacks);
  EXPECT_LT(Clock::now() - killed.value(), std::chrono::seconds(1)) << "from the kill to the end of all ranks";
  ASSERT_TRUE(outcome.failure.has_value());
  EXPECT_EQ(outcome.failure->rank, Rank(1));
  EXPECT_TRUE(contains(outcome.failure->cause, "SIGKILL")) << outcome.failure->cause;
  EXPECT_TRUE(contains(outcome.failure->cause, "restart_limit of 0")) << outcome.failure->cause;
}

// The rank that hangs is alive and its watcher beats; all others wait for it and stand still as well.
TEST(Restart, AHungRankIsNamedWithinTheTimeoutAndTheRunGoesOn) {
  const TemporaryFolder folder;
  Plan plan = saving_plan(cases()[4].layout);
  const RunOptions undisturbed = options_in(folder, "undisturbed");
  ASSERT_TRUE(launch_run(plan, undisturbed, RANK_PROCESS, {}).ok());
  plan.recovery.hang_timeout = from_si<Seconds>(1.5);
  RunOptions options = options_in(folder, "hung");
  for (options.faults.seed = 0; hanging_rank(options.faults, 4) != Rank(2); ++options.faults.seed) {
  }
  options.faults.hang_step = 9;
  const RunOutcome outcome = launch_run(plan, options, RANK_PROCESS, {});
  ASSERT_TRUE(outcome.ok()) << outcome.failure->cause;
  const RunRecord record = record_of(options);
  ASSERT_EQ(record.failures.size(), 1U) << "the redone step does not hang again";
  EXPECT_EQ(record.failures[0].failure.rank, Rank(2));
  EXPECT_EQ(record.failures[0].failure.step, 9);
  EXPECT_TRUE(contains(record.failures[0].failure.cause, "no progress")) << record.failures[0].failure.cause;
  EXPECT_GE(record.failures[0].detection_time.value().si(), 1.5);
  EXPECT_LT(record.failures[0].detection_time.value().si(), 3.0);
  EXPECT_TRUE(weights(options) == weights(undisturbed));
}

TEST(Restart, GivesUpWithAReasonAfterItsLimit) {
  const TemporaryFolder folder;
  Plan plan = saving_plan(cases()[0].layout);
  plan.training.steps = 100000;
  plan.recovery.restart_limit = 2;
  RunOptions options = options_in(folder, "run");
  options.faults.kills = RandomKills{.mean = from_si<Seconds>(0.1), .count = std::nullopt};
  const RunOutcome outcome = launch_run(plan, options, RANK_PROCESS, {});
  ASSERT_TRUE(outcome.failure.has_value());
  EXPECT_EQ(outcome.restarts, 2);
  EXPECT_TRUE(contains(outcome.failure->cause, "restart_limit of 2 is reached")) << outcome.failure->cause;
}

TEST(Restart, WithoutCheckpointsAFailureEndsTheRun) {
  const TemporaryFolder folder;
  Plan plan = saving_plan(cases()[0].layout);
  plan.checkpoint.every_steps.reset();
  const RunOutcome outcome = launch_run(plan, options_in(folder, "run"), RANK_PROCESS, killing(0, 5));
  ASSERT_TRUE(outcome.failure.has_value());
  EXPECT_EQ(outcome.restarts, 0);
}

TEST(Restart, KeepsAsManyCheckpointsAsThePlanSays) {
  const TemporaryFolder folder;
  Plan plan = saving_plan(cases()[1].layout);
  plan.checkpoint.every_steps = 3;
  const RunOptions options = options_in(folder, "run");
  ASSERT_TRUE(launch_run(plan, options, RANK_PROCESS, {}).ok());
  const RunFiles files{options.folder};
  for (const std::int64_t step : {3, 6, 9, 12, 15}) {
    EXPECT_EQ(fs::exists(files.checkpoint(step)), step >= 12) << step;
  }
  const RunRecord record = record_of(options);
  ASSERT_EQ(record.saves.size(), 5U) << "synchronous saves are never late";
  for (const SaveRecord& save : record.saves) {
    EXPECT_EQ(save.failure, "");
    EXPECT_GT(save.bytes.value(), 0);
    EXPECT_GE(save.blocking_time, save.save_time);
  }
}

// A file in the place of the checkpoints' folder: no save can succeed.
TEST(Restart, ARunWhoseSavesFailGoesOnAndSaysSo) {
  const TemporaryFolder folder;
  const Plan plan = saving_plan(cases()[1].layout);
  const RunOptions options = options_in(folder, "run");
  std::string said;
  const RunCallbacks callbacks{.on_record =
                                   [&](const std::string& line) {
                                     if (contains(line, R"("header")")) {
                                       std::ofstream(RunFiles{options.folder}.checkpoints()) << "in the way";
                                     }
                                   },
                               .on_message = [&](int, const std::string& line) { said += line; },
                               .on_notice = {}};
  const RunOutcome outcome = launch_run(plan, options, RANK_PROCESS, callbacks);
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(contains(said, "could not be saved, the run goes on")) << said;
  const RunRecord record = record_of(options);
  EXPECT_EQ(record.steps.size(), 16U);
  ASSERT_FALSE(record.saves.empty());
  for (const SaveRecord& save : record.saves) {
    EXPECT_TRUE(contains(save.failure, "rank 0")) << save.failure;
  }
}

TEST(Resume, PassesOverADamagedCheckpointAndSaysWhich) {
  const TemporaryFolder folder;
  const Plan plan = saving_plan(cases()[1].layout);
  const RunOptions undisturbed = options_in(folder, "undisturbed");
  ASSERT_TRUE(launch_run(plan, undisturbed, RANK_PROCESS, {}).ok());
  RunOptions options = options_in(folder, "run");
  options.steps = 10;
  ASSERT_TRUE(launch_run(plan, options, RANK_PROCESS, {}).ok());
  const RunFiles files{options.folder};
  fs::resize_file(files.checkpoint(10) / "rank-1.safetensors", 1000);
  options.steps.reset();
  options.resume = true;
  std::string said;
  const RunOutcome outcome = launch_run(
      plan, options, RANK_PROCESS,
      {.on_record = {}, .on_message = {}, .on_notice = [&](const std::string& text) { said += text + "\n"; }});
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(contains(said, "step-10 is not used")) << said;
  EXPECT_TRUE(contains(said, "rank-1.safetensors has 1000 bytes")) << said;
  EXPECT_TRUE(contains(said, "after step 8")) << said;
  EXPECT_TRUE(fs::exists(files.checkpoint(10).string() + ".damaged"));
  EXPECT_TRUE(weights(options) == weights(undisturbed));
}

TEST(Resume, RefusesWhatIsNotThisRuns) {
  const TemporaryFolder folder;
  const Plan plan = saving_plan(cases()[1].layout);
  RunOptions options = options_in(folder, "run");
  options.resume = true;
  const auto refused = [&](const Plan& other) {
    return error_of([&] { launch_run(other, options, RANK_PROCESS, {}); });
  };
  EXPECT_TRUE(contains(refused(plan).problem(), "holds no run"));
  options.resume = false;
  options.steps = 10;
  ASSERT_TRUE(launch_run(plan, options, RANK_PROCESS, {}).ok());
  options.steps.reset();
  options.resume = true;
  Plan other = plan;
  other.training.learning_rate *= 2;
  EXPECT_TRUE(contains(refused(other).problem(), "\"training\"")) << refused(other).what();
  other = plan;
  other.layout.zero_stage = 0;
  EXPECT_TRUE(contains(refused(other).problem(), "layout")) << refused(other).what();
  other = plan;
  other.model.layers = 2;
  EXPECT_TRUE(contains(refused(other).problem(), "model")) << refused(other).what();
  const fs::path text = options.data;
  options.data = folder.write("other.txt", pseudo_text(30000));
  EXPECT_TRUE(contains(refused(plan).problem(), "another text")) << refused(plan).what();
  options.data = text;
  other = plan;
  other.checkpoint.every_steps = 5;
  other.recovery.restart_limit = 1;
  ASSERT_TRUE(launch_run(other, options, RANK_PROCESS, {}).ok()) << "a policy may change";
  EXPECT_TRUE(contains(refused(plan).problem(), "complete")) << refused(plan).what();
}

// A job script has one line for its first start and the later ones.
TEST(Resume, BeginsARunWhereThereIsNoneIfAsked) {
  const TemporaryFolder folder;
  const Plan plan = saving_plan(cases()[0].layout);
  RunOptions options = options_in(folder, "run");
  options.resume = true;
  options.or_begin = true;
  options.steps = 3;
  const RunOutcome first = launch_run(plan, options, RANK_PROCESS, {});
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(first.resumed_after);
  fs::remove_all(RunFiles{options.folder}.checkpoints());  // as if stopped before the first
  options.steps = 6;
  const RunOutcome second = launch_run(plan, options, RANK_PROCESS, {});
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second.resumed_after, 0) << "from the beginning: it had no checkpoint";
  EXPECT_EQ(record_of(options).steps.size(), 6U);
  options.steps.reset();
  const RunOutcome third = launch_run(plan, options, RANK_PROCESS, {});
  ASSERT_TRUE(third.ok());
  EXPECT_EQ(third.resumed_after, 6) << "what the second ended with";
  RunOptions undisturbed = options_in(folder, "undisturbed");
  ASSERT_TRUE(launch_run(plan, undisturbed, RANK_PROCESS, {}).ok());
  EXPECT_TRUE(weights(options) == weights(undisturbed));
  expect_same_steps(record_of(options), record_of(undisturbed));
}

// A run that began with given weights and has no checkpoint yet doesn't go on from random ones.
TEST(Resume, WithoutACheckpointBeginsWithTheSameWeightsOrIsRefused) {
  const TemporaryFolder folder;
  const Plan plan = saving_plan(cases()[0].layout);
  RunOptions source = options_in(folder, "source");
  source.steps = 2;
  ASSERT_TRUE(launch_run(plan, source, RANK_PROCESS, {}).ok());
  RunOptions options = options_in(folder, "run");
  options.initial_weights = RunFiles{source.folder}.model();
  options.resume = options.or_begin = true;  // a job script's line, the same at each start
  options.steps = 3;
  ASSERT_TRUE(launch_run(plan, options, RANK_PROCESS, {}).ok());
  const double first_loss = record_of(options).steps.front().loss;
  fs::remove_all(RunFiles{options.folder}.checkpoints());
  options.steps = 6;
  RunOptions forgotten = options;
  forgotten.initial_weights.reset();
  const Error refused = error_of([&] { launch_run(plan, forgotten, RANK_PROCESS, {}); });
  EXPECT_EQ(refused.where(), "--init");
  EXPECT_TRUE(contains(refused.problem(), options.initial_weights->string())) << refused.what();
  ASSERT_TRUE(launch_run(plan, options, RANK_PROCESS, {}).ok());
  EXPECT_EQ(record_of(options).steps.front().loss, first_loss);
  EXPECT_EQ(record_of(options).steps.size(), 6U);
}

TEST(Recover, OnlyInTheWayThatTheExecutorKnows) {
  const TemporaryFolder folder;
  Plan plan = saving_plan(cases()[0].layout);
  plan.recovery.kind = RecoveryKind::kPeerMemory;
  const RunOptions options = options_in(folder, "run");
  const Error error = error_of([&] { launch_run(plan, options, RANK_PROCESS, {}); });
  EXPECT_TRUE(contains(error.problem(), "peer_memory")) << error.what();
  EXPECT_FALSE(fs::exists(options.folder));
}

TEST(Inject, ABitFlipChangesWhatFollowsAndSaysWhichBitItWas) {
  const TemporaryFolder folder;
  const Plan plan = saving_plan(cases()[0].layout);
  const RunOptions undisturbed = options_in(folder, "undisturbed");
  ASSERT_TRUE(launch_run(plan, undisturbed, RANK_PROCESS, {}).ok());
  RunOptions options = options_in(folder, "flipped");
  add_fault(options.faults, "bitflip:model.layers.1.mlp.gate_proj.weight@6");
  std::string said;
  ASSERT_TRUE(
      launch_run(plan, options, RANK_PROCESS,
                 {.on_record = {},
                  .on_message = [&](int rank,
                                    const std::string& line) { said += "rank " + std::to_string(rank) + ": " + line; },
                  .on_notice = {}})
          .ok());
  EXPECT_TRUE(contains(said, "injected: bit ")) << said;
  EXPECT_TRUE(contains(said, "gate_proj.weight flipped before step 6")) << said;
  EXPECT_FALSE(weights(options) == weights(undisturbed));
  const RunRecord with = record_of(options);
  const RunRecord without = record_of(undisturbed);
  EXPECT_EQ(with.steps[5].loss, without.steps[5].loss) << "nothing before it changes";
}

TEST(Inject, SaysWhatCanBeAsked) {
  InjectedFaults faults;
  for (const char* text :
       {"pray@3", "kill@", "kill@0 s", "kill@20", "kill@20s,0", "hang@-1", "hang@x", "bitflip:@3", "bitflip:x", ""}) {
    EXPECT_EQ(error_of([&] { add_fault(faults, text); }).where().substr(0, 8), "--inject") << text;
  }
  add_fault(faults, "kill@20s,50");
  EXPECT_EQ(faults.kills->mean, from_si<Seconds>(20));
  EXPECT_EQ(faults.kills->count, 50);
  add_fault(faults, "bitflip:a.b/momentum@3");
  add_fault(faults, "bitflip:c@5");
  EXPECT_EQ(to_text(parse_bit_flips(to_text(faults.bit_flips))), "a.b/momentum@3;c@5");
  EXPECT_EQ(to_text(still_to_come(faults, 3).bit_flips), "c@5");
  const Error unknown = error_of([&] { check_faults(faults, compile(saving_plan(cases()[0].layout))); });
  EXPECT_TRUE(contains(unknown.problem(), "a.b/momentum")) << unknown.what();
}

}  // namespace trainyard::executor
