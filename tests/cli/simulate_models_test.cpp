// Plans of models that only a simulation runs: instruction by instruction, and refused by `run`.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/command.h"
#include "tests/support/temporary_folder.h"

namespace trainyard::cli {
namespace {

const std::string kModels = std::string(TRAINYARD_SOURCE_DIR) + "/models/";

class SimulateModels : public ::testing::Test {
 protected:
  // The fastest plan of this shape, simulated.
  void expect_simulates(const std::string& model, const std::vector<std::string>& shape) {
    std::vector<std::string> arguments{"plan",     "--model", kModels + "llm/" + model + ".json", "--cluster", cluster_,
                                       "--output", plan_};
    arguments.insert(arguments.end(), shape.begin(), shape.end());
    const CommandResult planned = run_command(arguments);
    ASSERT_EQ(planned.exit_code, 0) << planned.err;
    const CommandResult simulated = run_command({"simulate", plan_, "--cluster", cluster_, "--json"});
    ASSERT_EQ(simulated.exit_code, 0) << simulated.err;
    EXPECT_GT(nlohmann::json::parse(simulated.out)["step_time_s"].get<double>(), 0.0);
  }
  // Before any rank starts.
  void expect_run_refuses(const std::string& what) const {
    const std::string data = folder_.write("data.txt", "in the beginning");
    const CommandResult run = run_command({"run", plan_, "--data", data, "--output", folder_.path() / "run"});
    EXPECT_EQ(run.exit_code, 2) << run.out;
    EXPECT_NE(run.err.find(what), std::string::npos) << run.err;
  }

  const std::string cluster_ = kModels + "clusters/llama3-16k-h100.json";
  TemporaryFolder folder_;
  const std::string plan_ = folder_.path() / "plan.json";
};

TEST_F(SimulateModels, BranchesSideBySide) {
  expect_simulates("falcon-7b", {"--ranks", "8", "--sequence", "2048", "--global-batch", "32"});
  expect_run_refuses("the executor can't run it");
}

TEST_F(SimulateModels, AMultiTokenBlock) {
  expect_simulates("deepseek-v3", {"--ranks", "1024", "--tp", "1", "--pp", "16", "--ep", "64", "--zero", "1",
                                   "--sequence", "4096", "--global-batch", "4096", "--schedule", "1f1b"});
  expect_run_refuses("the executor can't run it");
}

// The fastest layout with its optimizer's state moved to the hosts: its copies are in the trace.
TEST_F(SimulateModels, AnOptimizerInHostMemory) {
  expect_simulates("llama-3-8b",
                   {"--ranks", "8", "--tp", "1", "--zero", "1", "--sequence", "4096", "--global-batch", "64"});
  std::ifstream written(plan_);
  nlohmann::json plan = nlohmann::json::parse(written);
  plan["layout"]["offload_optimizer"] = true;
  std::ofstream(plan_) << plan.dump();
  const std::string chrome = folder_.path() / "chrome.json";
  const CommandResult simulated = run_command({"simulate", plan_, "--cluster", cluster_, "--chrome", chrome});
  ASSERT_EQ(simulated.exit_code, 0) << simulated.err;
  std::ifstream trace(chrome);
  const std::string text{std::istreambuf_iterator<char>(trace), std::istreambuf_iterator<char>()};
  EXPECT_NE(text.find("offload"), std::string::npos);
  expect_run_refuses("offloading");
  plan["layout"]["offload_activations"] = true;
  std::ofstream(plan_) << plan.dump();
  const CommandResult refused = run_command({"simulate", plan_, "--cluster", cluster_});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("a program can't keep activations in host memory"), std::string::npos) << refused.err;
}

}  // namespace
}  // namespace trainyard::cli
