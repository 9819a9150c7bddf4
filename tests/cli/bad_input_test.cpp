// Bad input ends with exit code 2 and the name of what is wrong, and leaves nothing half-written.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/command.h"
#include "tests/cli/tiny_model.h"

namespace trainyard::cli {

namespace {

using nlohmann::json;

const std::string kCluster = std::string(TRAINYARD_SOURCE_DIR) + "/models/clusters/llama3-16k-h100.json";
const std::string kAccelerator = std::string(TRAINYARD_SOURCE_DIR) + "/models/accelerators/h100-sxm.json";

// A plan command on two ranks of the published cluster; `extra` last.
std::vector<std::string> plan_command(const std::string& model, const std::string& output,
                                      const std::vector<std::string>& extra = {}) {
  std::vector<std::string> arguments = {"plan",    "--model",  model,        "--cluster", kCluster,
                                        "--ranks", "2",        "--sequence", "32",        "--global-batch",
                                        "4",       "--output", output};
  arguments.insert(arguments.end(), extra.begin(), extra.end());
  return arguments;
}

// Exit code 2, and standard error that holds all of these.
void expect_user_error(const CommandResult& result, const std::vector<std::string>& named) {
  EXPECT_EQ(result.exit_code, 2) << result.out << result.err;
  for (const std::string& name : named) {
    EXPECT_NE(result.err.find(name), std::string::npos) << "nothing about '" << name << "' in:\n" << result.err;
  }
}

class BadInput : public testing::Test {
 protected:
  void SetUp() override { model_ = folder_.write("config.json", tiny_model_config()); }
  // The folder holds what the test put there and no more.
  void expect_nothing_written(std::size_t files) {
    EXPECT_EQ(folder_.entries().size(), files) << testing::PrintToString(folder_.entries());
  }
  std::string good_plan() {
    const std::string file = folder_.file("plan.json");
    const CommandResult result =
        run_command(plan_command(model_, file, {"--precision", "fp32", "--dp", "2", "--zero", "0"}));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return file;
  }

  TemporaryFolder folder_;
  std::string model_;
};

std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

}  // namespace

TEST_F(BadInput, AMissingFileIsNamed) {
  expect_user_error(run_command(plan_command(folder_.file("none.json"), folder_.file("plan.json"))), {"none.json"});
  expect_user_error(run_command({"simulate", folder_.file("no.plan.json"), "--cluster", kCluster}), {"no.plan.json"});
  expect_nothing_written(1);
}

TEST_F(BadInput, TruncatedJsonIsNamedWithItsPlace) {
  const std::string plan = good_plan();
  const std::string text = text_of(plan);
  const std::string cut = folder_.write("cut.json", text.substr(0, text.size() / 2));
  expect_user_error(run_command({"simulate", cut, "--cluster", kCluster}), {"cut.json"});
  expect_user_error(run_command({"program", cut}), {"cut.json"});
}

TEST_F(BadInput, AnUnknownKeyIsNamedWithItsPointer) {
  json plan = json::parse(text_of(good_plan()));
  plan["layout"]["tensro"] = 2;
  const std::string file = folder_.write("typo.json", plan.dump());
  expect_user_error(run_command({"program", file}), {"typo.json", "/layout", "tensro"});
}

TEST_F(BadInput, AWrongUnitIsNamed) {
  json cluster = json::parse(text_of(kCluster));
  cluster["nic_bandwidth"]["value"] = "400 GiB";
  folder_.write("h100-sxm.json", text_of(kAccelerator));
  const std::string file = folder_.write("cluster.json", cluster.dump());
  std::vector<std::string> arguments = plan_command(model_, folder_.file("plan.json"));
  arguments[4] = file;
  expect_user_error(run_command(arguments), {"cluster.json", "nic_bandwidth"});
  expect_nothing_written(3);
}

TEST_F(BadInput, ABareNumberWhereAUnitBelongsIsNamed) {
  json plan = json::parse(text_of(good_plan()));
  plan["layout"]["bucket"] = 1000;
  expect_user_error(run_command({"program", folder_.write("bare.json", plan.dump())}), {"bare.json", "bucket"});
}

TEST_F(BadInput, AnImpossibleLayoutSaysWhichDegreeDoesNotDivide) {
  json plan = json::parse(text_of(good_plan()));
  plan["layout"]["tensor"] = 3;  // the model has two key-value heads
  expect_user_error(run_command({"program", folder_.write("three.json", plan.dump())}), {"three.json"});
}

TEST_F(BadInput, APlannerThatFindsNothingSaysWhyAndWritesNothing) {
  // Four samples can't be dealt out to 2 ranks of dp alone when tp and pp must stay 1 and a micro-batch is 3.
  const CommandResult result = run_command(plan_command(model_, folder_.file("plan.json"), {"--micro-batch", "3"}));
  expect_user_error(result, {"none of the 0 layouts"});
  expect_nothing_written(1);
}

TEST_F(BadInput, AFlagWithANonsenseValueIsNamed) {
  expect_user_error(run_command(plan_command(model_, folder_.file("p.json"), {"--learning-rate", "-1"})),
                    {"--learning-rate"});
  expect_user_error(run_command(plan_command(model_, folder_.file("p.json"), {"--steps", "many"})), {"--steps"});
  expect_user_error(run_command(plan_command(model_, folder_.file("p.json"), {"--optimizer", "adam"})),
                    {"--optimizer"});
  expect_nothing_written(1);
}

TEST_F(BadInput, ASequenceLongerThanTheModelsPositionsIsRefused) {
  std::vector<std::string> arguments = plan_command(model_, folder_.file("plan.json"));
  arguments[8] = "4096";
  expect_user_error(run_command(arguments), {"--sequence", "128 positions"});
}

TEST_F(BadInput, AnOutputThatCannotBeWrittenIsNamed) {
  const std::string nowhere = folder_.file("no/such/folder/plan.json");
  expect_user_error(run_command(plan_command(model_, nowhere)), {"no/such/folder"});
  expect_user_error(run_command({"calibrate", "--ranks", "1", "--output", folder_.file("none/profile.json")}),
                    {"none"});
  expect_nothing_written(1);
}

TEST_F(BadInput, AFullDiskIsAnErrorAndLeavesNoPartOfTheFile) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "mounting a small file system needs root";
  }
  const std::string disk = folder_.file("disk");
  ASSERT_EQ(mkdir(disk.c_str(), 0700), 0);
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=4096") != 0) {
    GTEST_SKIP() << "this container may not mount";
  }
  const std::string plan = good_plan();
  const CommandResult result = run_command({"simulate", plan, "--cluster", kCluster, "--trace", disk + "/trace.json"});
  expect_user_error(result, {"trace.json"});
  EXPECT_TRUE(std::filesystem::is_empty(disk));
  umount(disk.c_str());
}

TEST_F(BadInput, ARunOfMissingTextOrForAnotherDeviceStartsNothing) {
  const std::string plan = good_plan();
  expect_user_error(run_command({"run", plan, "--data", folder_.file("no.txt"), "--output", folder_.file("run")}),
                    {"no.txt"});
  EXPECT_FALSE(std::filesystem::exists(folder_.file("run/record.jsonl")));
}

TEST_F(BadInput, AFolderWithSomethingElseIsNotARunsFolderEvenWithForce) {
  const std::string plan = good_plan();
  folder_.write("text.txt", tiny_text());
  std::filesystem::create_directory(folder_.path() / "notes");
  std::ofstream(folder_.path() / "notes" / "thesis.tex") << "important";
  const std::vector<std::string> arguments = {
      "run", plan, "--data", folder_.file("text.txt"), "--output", folder_.file("notes"), "--force"};
  expect_user_error(run_command(arguments), {"notes"});
  EXPECT_EQ(text_of(folder_.file("notes/thesis.tex")), "important");
}

// CLI11 alone takes the first for 2^63 - 1, the second for 2^64 - 1 and the third for eight.
TEST_F(BadInput, NumbersThatDoNotFitTheirFlagAreNamed) {
  const std::string output = folder_.file("p.json");
  expect_user_error(run_command(plan_command(model_, output, {"--steps", "99999999999999999999"})), {"--steps"});
  expect_user_error(run_command(plan_command(model_, output, {"--seed", "-1"})), {"--seed"});
  expect_user_error(run_command(plan_command(model_, output, {"--top", "010x"})), {"--top"});
  expect_user_error(run_command(plan_command(model_, output, {"--weight-decay", "inf"})), {"--weight-decay"});
  expect_user_error(run_command(plan_command(model_, output, {"--clip-norm", "nan"})), {"--clip-norm"});
  expect_nothing_written(1);
}

TEST_F(BadInput, SizesBeyondAllReasonEndAtOnce) {
  const std::string output = folder_.file("p.json");
  const std::vector<std::pair<std::size_t, std::string>> sizes = {
      {6, "1000000000"}, {10, "9223372036854775806"}, {10, "1000000000"}};
  for (const auto& [at, size] : sizes) {
    std::vector<std::string> arguments = plan_command(model_, output);
    arguments[at] = size;
    const CommandResult result = run_command(arguments);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_LT(result.elapsed.count(), 20.0);
    EXPECT_EQ(result.err.find("bug:"), std::string::npos) << result.err;
  }
  expect_nothing_written(1);
}

TEST_F(BadInput, FlagsOfARunAreCheckedBeforeItStarts) {
  const std::string plan = good_plan();
  folder_.write("text.txt", tiny_text());
  const auto refused = [&](const std::string& flag, const std::string& value) {
    expect_user_error(
        run_command({"run", plan, "--data", folder_.file("text.txt"), "--output", folder_.file("run"), flag, value}),
        {flag});
  };
  refused("--evaluate-every", "0");
  refused("--evaluate-every", "-1");
  refused("--threads", "1000000000");
  EXPECT_FALSE(std::filesystem::exists(folder_.file("run")));
}

TEST_F(BadInput, AnOutputThatIsNoFileIsLeftAlone) {
  const std::string pipe = folder_.file("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  expect_user_error(run_command(plan_command(model_, pipe)), {"pipe"});
  expect_user_error(run_command({"calibrate", "--ranks", "1", "--output", pipe}), {"pipe"});
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

// The shell's 0, 1 and 2 closed: the pipes to the ranks must not get those numbers, nor a message end the process.
TEST_F(BadInput, ClosedStandardStreamsAreNotMistakenForPipes) {
  const std::string plan = good_plan();
  folder_.write("text.txt", tiny_text());
  const auto shell = [&](const std::string& arguments) {
    const int status = std::system((std::string(TRAINYARD_EXECUTABLE) + " " + arguments).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  EXPECT_EQ(shell("run " + plan + " --data " + folder_.file("text.txt") + " --output " + folder_.file("run") +
                  " --steps 1 --no-model <&- 2>&-"),
            0);
  EXPECT_EQ(shell("program " + plan + " >&- 2>&-"), 2);
  EXPECT_EQ(shell("program " + plan + " > /dev/full 2> /dev/full"), 2);
}

TEST_F(BadInput, ARecordWithoutTheCountsOfEveryRankIsNotCompared) {
  const std::string plan = good_plan();
  folder_.write("text.txt", tiny_text());
  const CommandResult ran = run_command(
      {"run", plan, "--data", folder_.file("text.txt"), "--output", folder_.file("run"), "--steps", "3", "--no-model"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const std::string record = folder_.file("run/record.jsonl");
  std::istringstream lines(text_of(record));
  std::ofstream kept(record);
  for (std::string line; std::getline(lines, line);) {
    if (json::parse(line)["record"] != "counts") {
      kept << line << "\n";
    }
  }
  kept.close();
  expect_user_error(run_command({"compare", plan, folder_.file("run"), "--cluster", kCluster}),
                    {"record.jsonl", "0 of"});
}

// An answer never replaces what it was made from.
TEST_F(BadInput, AnOutputThatIsAnInputIsRefused) {
  const std::string plan = good_plan();
  const std::string before = text_of(plan);
  expect_user_error(run_command(plan_command(model_, model_)), {"--output", "--model"});
  expect_user_error(run_command({"simulate", plan, "--cluster", kCluster, "--trace", plan}), {"--trace", "PLAN"});
  const std::string both = folder_.file("both.json");
  expect_user_error(run_command({"simulate", plan, "--cluster", kCluster, "--trace", both, "--chrome", both}),
                    {"--chrome", "--trace"});
  const std::string trace = folder_.file("trace.json");
  EXPECT_EQ(run_command({"simulate", plan, "--cluster", kCluster, "--trace", trace}).exit_code, 0);
  expect_user_error(run_command({"trace", trace, "--chrome", trace}), {"--chrome", "TRACE"});
  EXPECT_EQ(text_of(plan), before);
  EXPECT_EQ(text_of(model_), tiny_model_config());
  expect_nothing_written(3);
}

// A flag that would decide nothing is a misunderstanding, and is said before anything starts.
TEST_F(BadInput, FlagsThatARunWouldPassOverAreNamed) {
  const auto run = [&](std::vector<std::string> extra) {
    std::vector<std::string> arguments = {"run", good_plan(), "--data", "text.txt", "--output", folder_.file("run")};
    arguments.insert(arguments.end(), extra.begin(), extra.end());
    return run_command(arguments);
  };
  expect_user_error(run({"--start-on", "ssh {host}"}), {"--start-on", "--hosts"});
  expect_user_error(run({"--address", "127.0.0.1"}), {"--address", "--hosts"});
  expect_user_error(run({"--resume", folder_.file("other")}), {"--resume", "--output"});
  expect_user_error(run_command(plan_command(model_, folder_.file("momentum.json"), {"--momentum", "0.9"})),
                    {"--momentum"});
  EXPECT_FALSE(std::filesystem::exists(folder_.file("run")));
}

}  // namespace trainyard::cli
