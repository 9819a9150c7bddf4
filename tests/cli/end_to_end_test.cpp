// calibrate, plan, simulate, run, compare, trace on two ranks of a tiny model.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/cli/command.h"
#include "tests/cli/tiny_model.h"

namespace trainyard::cli {

namespace {

using nlohmann::json;

// One calibration for all tests of this file: it takes seconds.
class EndToEnd : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    folder_->write("config.json", tiny_model_config());
    folder_->write("text.txt", tiny_text());
    const CommandResult result =
        run_command({"calibrate", "--ranks", "2", "--quick", "--output", folder_->file("profile.json")});
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  static void TearDownTestSuite() { folder_.reset(); }

  // Plans `steps` steps on two ranks and returns the plan's path.
  static std::string plan(const std::string& name, int steps) {
    const std::string file = folder_->file(name);
    const CommandResult result = run_command(
        {"plan", "--model", folder_->file("config.json"), "--profile", folder_->file("profile.json"), "--ranks", "2",
         "--sequence", "32", "--global-batch", "4", "--steps", std::to_string(steps), "--output", file});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return file;
  }

  static std::unique_ptr<TemporaryFolder> folder_;
};
std::unique_ptr<TemporaryFolder> EndToEnd::folder_;

std::vector<json> read_lines(const std::string& file) {
  std::ifstream in(file);
  std::vector<json> lines;
  for (std::string line; std::getline(in, line);) {
    lines.push_back(json::parse(line));
  }
  return lines;
}

// Until the process's children have this many command lines that name `rank`, at most 10 s.
std::vector<pid_t> wait_for_ranks(const Command& command, std::size_t count) {
  std::vector<pid_t> ranks;
  for (int i = 0; i < 1000 && ranks.size() < count; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ranks.clear();
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      std::ifstream stat(entry.path() / "stat");
      std::string line;
      std::getline(stat, line);
      const std::size_t end = line.rfind(')');
      std::istringstream rest(end == std::string::npos ? "" : line.substr(end + 1));
      char state = 0;
      pid_t parent = 0;
      if (rest >> state >> parent && parent == command.pid() && state != 'Z') {
        ranks.push_back(std::stoi(entry.path().filename().string()));
      }
    }
  }
  return ranks;
}

bool exists(pid_t process) { return kill(process, 0) == 0; }

}  // namespace

TEST_F(EndToEnd, PredictionAndMeasurementMeetInstructionByInstruction) {
  const std::string plan_file = plan("loop.plan.json", 6);
  const std::string profile = folder_->file("profile.json");

  const CommandResult simulated =
      run_command({"simulate", plan_file, "--profile", profile, "--trace", folder_->file("predicted.json"), "--json"});
  ASSERT_EQ(simulated.exit_code, 0) << simulated.err;
  EXPECT_GT(parse_output(simulated)["step_time_s"].get<double>(), 0);

  const std::string run_folder = folder_->file("run");
  const CommandResult run =
      run_command({"run", plan_file, "--data", folder_->file("text.txt"), "--output", run_folder, "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json summary = parse_output(run);
  EXPECT_EQ(summary["steps"], 6);
  EXPECT_EQ(summary["failure"], nullptr);

  const CommandResult compared = run_command({"compare", plan_file, run_folder, "--profile", profile, "--json"});
  ASSERT_EQ(compared.exit_code, 0) << compared.err;
  const json comparison = parse_output(compared);
  EXPECT_GT(comparison["step_time"]["predicted_s"].get<double>(), 0);
  EXPECT_GT(comparison["step_time"]["measured_s"].get<double>(), 0);
  for (const json& row : comparison["bytes"]) {
    EXPECT_EQ(row["predicted_bytes"], row["measured_bytes"]) << row;
  }

  const CommandResult traced = run_command({"trace", run_folder, "--chrome", folder_->file("chrome.json"), "--json"});
  ASSERT_EQ(traced.exit_code, 0) << traced.err;
  EXPECT_EQ(parse_output(traced)["simulated"], false);
  EXPECT_TRUE(json::parse(std::ifstream(folder_->file("chrome.json")), nullptr, false).is_object());
}

// Of a model whose buffers outweigh the process itself: buffers are allocated as planned, and the process holds
// what the program and the calibrated baseline say, to 5 %.
TEST_F(EndToEnd, MemoryIsAsPredictedUnderEachKindOfParallelism) {
  const std::string model = std::string(TRAINYARD_SOURCE_DIR) + "/models/llm/demo-llama.json";
  const std::string profile = folder_->file("profile.json");
  for (const std::string degree : {"--dp", "--tp", "--pp"}) {
    const std::string plan_file = folder_->file("memory" + degree + ".plan.json");
    const std::string run_folder = folder_->file("memory" + degree);
    const CommandResult planned =
        run_command({"plan", "--model", model, "--profile", profile, "--ranks", "2", "--sequence", "256",
                     "--global-batch", "8", "--steps", "3", degree, "2", "--micro-batch", "2", "--output", plan_file});
    ASSERT_EQ(planned.exit_code, 0) << planned.err;
    const CommandResult run = run_command(
        {"run", plan_file, "--data", folder_->file("text.txt"), "--output", run_folder, "--no-model", "--json"});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const CommandResult compared = run_command({"compare", plan_file, run_folder, "--profile", profile, "--json"});
    ASSERT_EQ(compared.exit_code, 0) << compared.err;
    const json comparison = parse_output(compared);
    ASSERT_EQ(comparison["ranks"].size(), 2U);
    for (const json& rank : comparison["ranks"]) {
      for (const json& row : rank["memory"]) {
        if (row["name"] == "buffers") {
          EXPECT_EQ(row["predicted_bytes"], row["measured_bytes"]) << degree << rank;
        } else if (row["name"] == "resident") {
          EXPECT_NEAR(row["predicted_bytes"].get<double>() / row["measured_bytes"].get<double>(), 1.0, 0.05)
              << degree << rank;
        }
      }
    }
  }
}

// --pick K writes the layout of row K, and the table is the same whichever is picked.
TEST_F(EndToEnd, APickedPlanIsTheRowOfTheTable) {
  const std::string file = folder_->file("picked.plan.json");
  const auto picked = [&](int row) {
    const CommandResult result = run_command(
        {"plan", "--model", folder_->file("config.json"), "--profile", folder_->file("profile.json"), "--ranks", "2",
         "--sequence", "32", "--global-batch", "4", "--pick", std::to_string(row), "--output", file, "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(result.out)["layouts"];
  };
  const json layouts = picked(1);
  for (const int row : {2, 5, 8}) {
    const json again = picked(row);
    for (std::size_t i = 0; i < layouts.size(); ++i) {
      EXPECT_EQ(again[i]["layout"], layouts[i]["layout"]) << row;
    }
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    const json plan = json::parse(text.str());
    const json& degrees = layouts[static_cast<std::size_t>(row - 1)]["degrees"];
    for (const char* degree : {"tensor", "pipeline", "data", "zero_stage", "micro_batch", "accumulation"}) {
      EXPECT_EQ(plan["layout"][degree], degrees[degree]) << row << " " << degree;
    }
  }
}

// A loss that isn't a number poisons every weight: the run says so, by its exit code too.
TEST_F(EndToEnd, ARunThatDivergesIsNotASuccess) {
  const std::string file = folder_->file("diverging.plan.json");
  ASSERT_EQ(run_command({"plan", "--model", folder_->file("config.json"), "--profile", folder_->file("profile.json"),
                         "--ranks", "2", "--sequence", "32", "--global-batch", "4", "--steps", "4", "--learning-rate",
                         "1e30", "--warmup", "0", "--output", file})
                .exit_code,
            0);
  const CommandResult run =
      run_command({"run", file, "--data", folder_->file("text.txt"), "--output", folder_->file("diverging"), "--json"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.err.find("diverged"), std::string::npos) << run.err;
  const json answer = json::parse(run.out);
  EXPECT_GE(answer["diverged_in_step"].get<int>(), 2);
  EXPECT_TRUE(answer["failure"].is_null());
}

TEST_F(EndToEnd, ARunDirectoryIsNotOverwrittenUnlessForced) {
  const std::string plan_file = plan("twice.plan.json", 1);
  const std::vector<std::string> arguments = {
      "run", plan_file, "--data", folder_->file("text.txt"), "--output", folder_->file("twice")};
  ASSERT_EQ(run_command(arguments).exit_code, 0);
  const CommandResult again = run_command(arguments);
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_NE(again.err.find("--force"), std::string::npos) << again.err;
  std::vector<std::string> forced = arguments;
  forced.emplace_back("--force");
  EXPECT_EQ(run_command(forced).exit_code, 0);
}

TEST_F(EndToEnd, AKilledRankEndsTheRunWithinTwoSecondsAndLeavesNoOrphan) {
  const std::string plan_file = plan("killed.plan.json", 100'000);
  Command command(
      {"run", plan_file, "--data", folder_->file("text.txt"), "--output", folder_->file("killed"), "--json"});
  const std::vector<pid_t> ranks = wait_for_ranks(command, 2);
  ASSERT_EQ(ranks.size(), 2U);
  std::this_thread::sleep_for(std::chrono::milliseconds(800));  // into the steps
  kill(ranks.back(), SIGKILL);
  const auto killed = std::chrono::steady_clock::now();
  const CommandResult result = command.wait();
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - killed).count(), 2.0);
  EXPECT_EQ(result.exit_code, 1) << result.err;
  const json summary = parse_output(result);
  EXPECT_TRUE(summary["failure"]["rank"].is_number()) << summary;
  EXPECT_NE(summary["failure"]["cause"].get<std::string>().find("SIGKILL"), std::string::npos) << summary;
  for (const pid_t rank : ranks) {
    EXPECT_FALSE(exists(rank));
  }
  const std::vector<json> record = read_lines(folder_->file("killed/record.jsonl"));
  EXPECT_EQ(record.back()["record"], "end");
}

TEST_F(EndToEnd, CtrlCEndsARunWithCode130AndLeavesNoOrphan) {
  const std::string plan_file = plan("interrupted.plan.json", 100'000);
  Command command({"run", plan_file, "--data", folder_->file("text.txt"), "--output", folder_->file("interrupted")});
  const std::vector<pid_t> ranks = wait_for_ranks(command, 2);
  ASSERT_EQ(ranks.size(), 2U);
  command.send_signal(SIGINT);
  const CommandResult result = command.wait();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  for (const pid_t rank : ranks) {
    EXPECT_FALSE(exists(rank));
  }
}

TEST(Calibrate, CtrlCLeavesNothingHalfWritten) {
  const TemporaryFolder folder;
  Command command({"calibrate", "--ranks", "2", "--output", folder.file("profile.json")});
  const std::vector<pid_t> ranks = wait_for_ranks(command, 2);
  ASSERT_EQ(ranks.size(), 2U);
  command.send_signal(SIGINT);
  EXPECT_EQ(command.wait().exit_code, 130);
  EXPECT_TRUE(folder.entries().empty());
  for (const pid_t rank : ranks) {
    EXPECT_FALSE(exists(rank));
  }
}

// What the planner says is the largest batch that fits in 300 MiB trains in them, with 10 MiB for what counts as data
// and isn't resident (stacks, the allocator's reserve); one sequence more, 36 MiB, runs out.
TEST_F(EndToEnd, TheLargestBatchTrainsUnderAMemoryCapAndOneSequenceMoreRunsOut) {
  const std::string model = std::string(TRAINYARD_SOURCE_DIR) + "/models/llm/demo-llama.json";
  const auto planned = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {
        "plan",    "--model", model,        "--profile", folder_->file("profile.json"),
        "--ranks", "1",       "--sequence", "512",       "--recompute",
        "none",    "--steps", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command(arguments);
  };
  const json largest =
      parse_output(planned({"--global-batch", "1", "--memory", "300 MiB", "--maximize", "batch", "--json"}));
  const std::int64_t batch = largest["value"];
  ASSERT_EQ(largest["next"], batch + 1);
  const auto trains = [&](std::int64_t sequences) {
    const std::string number = std::to_string(sequences);
    const std::string plan = folder_->file("capped" + number + ".json");
    EXPECT_EQ(planned({"--global-batch", number, "--micro-batch", number, "--output", plan}).exit_code, 0);
    rlimit before{};
    getrlimit(RLIMIT_DATA, &before);
    const rlimit capped{std::min<rlim_t>(310U << 20U, before.rlim_cur), before.rlim_max};
    setrlimit(RLIMIT_DATA, &capped);
    const CommandResult result = run_command({"run", plan, "--data", folder_->file("text.txt"), "--threads", "1",
                                              "--no-model", "--output", folder_->file("capped" + number)});
    setrlimit(RLIMIT_DATA, &before);
    return result;
  };
  const CommandResult fits = trains(batch);
  EXPECT_EQ(fits.exit_code, 0) << fits.err;
  const CommandResult lacks = trains(batch + 1);
  EXPECT_EQ(lacks.exit_code, 1) << lacks.err;
  EXPECT_TRUE(lacks.err.find("memory") != std::string::npos) << lacks.err;
}

TEST_F(EndToEnd, ThePlanCarriesWhenToSaveAndWhenToGiveUp) {
  const std::string file = folder_->file("careful.json");
  std::vector<std::string> arguments = {"plan",
                                        "--model",
                                        folder_->file("config.json"),
                                        "--profile",
                                        folder_->file("profile.json"),
                                        "--ranks",
                                        "2",
                                        "--sequence",
                                        "32",
                                        "--global-batch",
                                        "4"};
  const std::vector<std::string> policy = {"--checkpoint-every", "25", "--keep",         "3",
                                           "--restart-limit",    "7",  "--hang-timeout", "2 min"};
  arguments.insert(arguments.end(), policy.begin(), policy.end());
  const CommandResult lost = run_command(arguments);
  EXPECT_EQ(lost.exit_code, 2) << "without --output nothing would take the policy";
  arguments.insert(arguments.end(), {"--output", file});
  ASSERT_EQ(run_command(arguments).exit_code, 0);
  std::ifstream in(file);
  const json plan = json::parse(in);
  EXPECT_EQ(plan["checkpoint"]["every_steps"], 25);
  EXPECT_EQ(plan["checkpoint"]["keep"], 3);
  EXPECT_EQ(plan["recovery"]["restart_limit"], 7);
  EXPECT_EQ(plan["recovery"]["hang_timeout"], "120 s");
}

}  // namespace trainyard::cli
