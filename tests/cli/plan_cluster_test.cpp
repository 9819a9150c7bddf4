// `plan --cluster`: the search and its what-ifs, on two nodes' worth of an 8 B model.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "core/document/read_file.h"
#include "tests/cli/command.h"
#include "tests/support/temporary_folder.h"

namespace trainyard::cli {
namespace {

using nlohmann::json;

std::vector<std::string> plan_command(const std::vector<std::string>& extra, const std::string& cluster = {}) {
  const std::string models = std::string(TRAINYARD_SOURCE_DIR) + "/models/";
  std::vector<std::string> arguments = {"plan",
                                        "--model",
                                        models + "llm/llama-3-8b.json",
                                        "--cluster",
                                        cluster.empty() ? models + "clusters/llama3-16k-h100.json" : cluster,
                                        "--ranks",
                                        "16",
                                        "--sequence",
                                        "8192",
                                        "--global-batch",
                                        "32"};
  arguments.insert(arguments.end(), extra.begin(), extra.end());
  return arguments;
}

json answer(std::vector<std::string> extra) {
  extra.emplace_back("--json");
  const CommandResult result = run_command(plan_command(extra));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return json::parse(result.out);
}

// Losses are what stands between the peak and the step; memory's parts are the rank's total.
TEST(PlanCluster, PartsAddUp) {
  const json plan = answer({});
  ASSERT_FALSE(plan["layouts"].empty());
  for (const json& layout : plan["layouts"]) {
    double losses = 0.0;
    for (const auto& [name, part] : layout["losses_s"].items()) {
      losses += part.get<double>();
    }
    EXPECT_NEAR(losses, layout["step_time_s"].get<double>(), 1e-9 * losses);
    EXPECT_NEAR(layout["losses_s"]["ideal"].get<double>() / losses, layout["mfu"].get<double>(), 1e-9);
    std::int64_t bytes = 0;
    for (const auto& [name, part] : layout["memory_by_use_bytes"].items()) {
      bytes += part.get<std::int64_t>();
    }
    EXPECT_EQ(bytes, layout["memory_bytes"].get<std::int64_t>());
    EXPECT_LE(layout["low_s"].get<double>(), layout["step_time_s"].get<double>());
  }
}

TEST(PlanCluster, ExhaustiveAndThreadsChangeNothing) {
  const json usual = answer({});
  EXPECT_EQ(usual["layouts"], answer({"--exhaustive"})["layouts"]);
  EXPECT_EQ(usual["layouts"], answer({"--threads", "1"})["layouts"]);
  EXPECT_EQ(usual["pareto"], answer({"--exhaustive", "--threads", "3"})["pareto"]);
}

TEST(PlanCluster, FlagsNarrowTheLayouts) {
  for (const json& layout : answer({"--tp", "2", "--schedule", "1f1b", "--max-pp", "2", "--zero", "1"})["layouts"]) {
    const std::string text = layout["layout"];
    EXPECT_TRUE(text.starts_with("tp2")) << text;
    EXPECT_NE(text.find("zero1"), std::string::npos) << text;
    EXPECT_EQ(text.find("pp4"), std::string::npos) << text;
  }
}

// The table's own words are read back: the best layout explained is as fast as the best.
TEST(PlanCluster, ExplainsALayoutAsTheTableWritesIt) {
  const json plan = answer({});
  const json explained = answer({"--explain", plan["layouts"][1]["layout"].get<std::string>()});
  EXPECT_EQ(explained["explained"]["layout"], plan["layouts"][1]["layout"]);
  EXPECT_EQ(explained["explained"]["step_time_s"], plan["layouts"][1]["step_time_s"]);
  // 8 B parameters at 18 bytes don't fit 80 GB: the answer says what would make them.
  const json large = answer({"--explain", "dp16 mbs1"})["explained"];
  EXPECT_NE(large["lacks"].get<std::string>().find("needs"), std::string::npos);
  EXPECT_TRUE(large["fits_with"].is_string());
  const CommandResult wrong = run_command(plan_command({"--explain", "tq8"}));
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_NE(wrong.err.find("tq8"), std::string::npos);
}

// 32 layers and heads: each of these contradicts the model, the ranks or itself.
TEST(PlanCluster, AnImpossibleLayoutIsNotExplained) {
  for (const char* layout :
       {"dp16 zero9", "tp2 pp8 dp1 interleaved v0 mbs1 ga32", "dp16 recompute-full every0", "dp16 ep0", "dp16 etp7",
        "dp16 zero3 shard0", "pp2 dp8 layers-16,17", "pp2 dp8 layers-1", "dp16 ga0", "pp16 dp1 interleaved v4"}) {
    const CommandResult result = run_command(plan_command({"--explain", layout}));
    EXPECT_EQ(result.exit_code, 2) << layout << "\n" << result.out;
    EXPECT_NE(result.err.find("--explain"), std::string::npos) << result.err;
  }
}

TEST(PlanCluster, AnswersWhatIfs) {
  const json sensitivity = answer({"--sensitivity"});
  EXPECT_GE(sensitivity["sensitivity"].size(), 9U);
  TemporaryFolder folder;
  const json sweep = answer({"--sweep", "8,16,32", "--svg", folder.file("sweep.svg")});
  ASSERT_EQ(sweep["points"].size(), 3U);
  EXPECT_EQ(sweep["points"][2]["global_batch"], 64);
  EXPECT_EQ(answer({"--sweep", "8,32", "--strong"})["points"][1]["global_batch"], 32);
  const json batch = answer({"--maximize", "batch"});
  EXPECT_GT(batch["next"].get<std::int64_t>(), batch["value"].get<std::int64_t>());
  EXPECT_NE(batch["next_lacks"].get<std::string>().find("needs"), std::string::npos);
  EXPECT_FALSE(batch["recompute"]["points"].empty());
}

// On a fabric the best is simulated again on its graph, near the closed form.
TEST(PlanCluster, SimulatesTheBestOnAFabric) {
  const std::vector<std::string> narrow = {"--tp",   "8", "--cp",       "1", "--pp",  "1",
                                           "--zero", "1", "--simulate", "1", "--json"};
  const CommandResult result = run_command(plan_command(narrow, "superpod-h100:su=1"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json checks = json::parse(result.out)["on_graph"];
  ASSERT_EQ(checks.size(), 1U);
  ASSERT_TRUE(checks[0]["median_s"].is_number()) << checks[0]["why_not"];
  EXPECT_NEAR(checks[0]["median_s"].get<double>() / checks[0]["formula_s"].get<double>(), 1.0, 0.5);
  const CommandResult without = run_command(plan_command({"--simulate", "1"}));
  EXPECT_EQ(without.exit_code, 2);
  EXPECT_NE(without.err.find("graph"), std::string::npos);
}

// The plan that is written is the fastest of those simulated, with that time.
TEST(PlanCluster, TheBestOfThoseSimulatedIsWritten) {
  const TemporaryFolder folder;
  const std::string output = folder.path() / "plan.json";
  const CommandResult result = run_command(
      plan_command({"--tp", "8", "--pp", "1", "--simulate", "2", "--output", output, "--json"}, "superpod-h100:su=1"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json plan = json::parse(result.out);
  ASSERT_GE(plan["on_graph"].size(), 2U);
  double fastest = 1e9;
  std::string layout;
  for (const json& check : plan["on_graph"]) {
    if (check["median_s"].is_number() && check["median_s"] < fastest) {
      fastest = check["median_s"];
      layout = check["layout"];
    }
  }
  EXPECT_EQ(plan["layouts"][plan["picked"].get<std::size_t>() - 1]["layout"], layout);
  EXPECT_EQ(run_command({"simulate", output, "--cluster", "superpod-h100:su=1"}).exit_code, 0);
}

// What the search lets through is a valid plan, and its program fits.
TEST(PlanCluster, InterleavedAndZeroBubblePlansCanBeSimulated) {
  const TemporaryFolder folder;
  const std::string output = folder.path() / "plan.json";
  const std::string cluster = std::string(TRAINYARD_SOURCE_DIR) + "/models/clusters/llama3-16k-h100.json";
  for (const char* schedule : {"interleaved", "zb-h1", "zb-v"}) {
    const CommandResult plan = run_command(plan_command({"--pp", "4", "--schedule", schedule, "--output", output}));
    ASSERT_EQ(plan.exit_code, 0) << schedule << ": " << plan.err;
    const CommandResult simulated = run_command({"simulate", output, "--cluster", cluster});
    EXPECT_EQ(simulated.exit_code, 0) << schedule << ": " << simulated.err;
  }
}

// 1.5 half-widths where no fitted profile ran the schedule: (high / step)^(1 / 1.5) is the interval of 1f1b.
TEST(PlanCluster, SchedulesThatNobodyMeasuredHaveAWiderInterval) {
  const auto spread = [](const char* schedule) {
    const json best = answer({"--pp", "2", "--schedule", schedule})["layouts"][0];
    return std::log(best["high_s"].get<double>() / best["step_time_s"].get<double>());
  };
  EXPECT_NEAR(spread("zb-h1"), 1.5 * spread("1f1b"), 1e-9);
}

TEST(PlanCluster, FlagsThatSayNothingAreErrorsThatNameThem) {
  struct Case {
    std::vector<std::string> flags;
    const char* says;
  };
  for (const Case& c :
       {Case{{"--tp", "3"}, "3 doesn't divide the 16 ranks"}, Case{{"--strong"}, "--strong"},
        Case{{"--svg", "x.svg"}, "--svg"}, Case{{"--maximize", "batch", "--sensitivity"}, "--sensitivity"},
        Case{{"--precision", "nvfp4"}, "it has fp64, fp32, tf32, fp16, bf16, fp8"},
        Case{{"--gpu-hour-price", "-2"}, "must be above 0"}, Case{{"--accelerator", "h200"}, "--accelerator"}}) {
    const CommandResult result = run_command(plan_command(c.flags));
    EXPECT_EQ(result.exit_code, 2) << c.flags.front();
    EXPECT_NE(result.err.find(c.says), std::string::npos) << result.err;
  }
}

// Unfused attention keeps 5 bytes a score (Korthikanti et al. 2022): a micro-batch of 8,192 tokens and 8 of 32 heads,
// 32 layers, 5 x 8192^2 x 8 x 32 = 80 GiB. Computed again they aren't kept, which takes time.
TEST(PlanCluster, SelectiveRecomputationGivesUpScoresForTime) {
  const std::vector<std::string> early = {
      "--stack", "megatron-2021-ampere", "--tp", "4",      "--pp", "1",          "--cp",
      "1",       "--micro-batch",        "1",    "--zero", "1",    "--recompute"};
  const auto with = [&](const std::string& recompute) {
    std::vector<std::string> flags = early;
    flags.push_back(recompute);
    return flags;
  };
  const json again = answer(with("selective"))["layouts"][0];
  EXPECT_LT(again["memory_bytes"].get<double>(), 80e9);
  const CommandResult kept = run_command(plan_command(with("none")));
  EXPECT_NE(kept.exit_code, 0);
  EXPECT_NE(kept.err.find("too much"), std::string::npos) << kept.err;
  const CommandResult fused = run_command(plan_command({"--recompute", "selective"}));
  EXPECT_NE(fused.exit_code, 0);
  EXPECT_NE(fused.err.find("--recompute selective"), std::string::npos) << fused.err;
  EXPECT_NE(fused.err.find("--stack"), std::string::npos) << fused.err;
}

TEST(PlanCluster, AnUnknownStackIsAnErrorWithNames) {
  const CommandResult result = run_command(plan_command({"--stack", "hoper-fused"}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("hopper-fused"), std::string::npos) << result.err;
}

// A plan of one's own that took 20 % longer than predicted: the same command predicts it so afterwards, with a narrower
// interval, and so does the profile that was saved.
TEST(PlanCluster, FollowsARunOfOnesOwn) {
  const TemporaryFolder folder;
  const std::string mine = folder.path() / "mine.json";
  const std::string saved = folder.path() / "stack.json";
  const std::vector<std::string> layout = {"--tp", "4", "--pp", "1", "--zero", "1", "--micro-batch", "1"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), layout.begin(), layout.end());
    return answer(more);
  };
  const json before = with({"--output", mine});
  const double step = before["layouts"][0]["step_time_s"];
  const json after = with({"--anchor", mine + "=" + std::to_string(1.2 * step) + "s", "--save-stack", saved});
  const json anchor = after["anchors"].at(0);
  EXPECT_EQ(anchor["run"], mine);
  EXPECT_NEAR(anchor["measured_s"].get<double>(), 1.2 * step, 1e-5 * step);
  EXPECT_NEAR(anchor["predicted_before_s"].get<double>(), step, 1e-6 * step);
  EXPECT_NEAR(anchor["predicted_s"].get<double>() / (1.2 * step), 1.0, 0.06);
  const auto spread = [](const json& plan) {
    const json& best = plan["layouts"][0];
    return best["high_s"].get<double>() / best["step_time_s"].get<double>();
  };
  EXPECT_LT(spread(after), spread(before));
  const json again = with({"--stack", saved});
  EXPECT_EQ(again["layouts"][0]["layout"], after["layouts"][0]["layout"]);
  EXPECT_NEAR(again["layouts"][0]["step_time_s"].get<double>(), after["layouts"][0]["step_time_s"].get<double>(),
              2e-3 * step);  // a file keeps four digits
}

// Text comes faster than it is trained on; 2 GB of video a sequence doesn't. By formula and by instructions.
TEST(PlanCluster, StepsWaitForDataThatComesTooSlowly) {
  const TemporaryFolder folder;
  const std::string output = folder.path() / "plan.json";
  const std::vector<std::string> heavy = {"--sample-bytes", "2 GB", "--node-rate", "10 GB/s"};
  const auto input_of = [](const json& plan) { return plan["layouts"][0]["losses_s"]["input"].get<double>(); };
  EXPECT_EQ(input_of(answer({"--tp", "4", "--output", output})), 0.0);
  std::vector<std::string> flags = {"--tp", "4", "--pp", "1", "--micro-batch", "1"};
  flags.insert(flags.end(), heavy.begin(), heavy.end());
  const json plan = answer(flags);
  const json& best = plan["layouts"][0];
  // 16 ranks of 4 a replica: 4 replicas of 8 sequences, 2 on a node: 32 GB at 10 GB/s, of which the step hides its own.
  EXPECT_NEAR(best["step_time_s"].get<double>(), 3.2, 1e-6);
  EXPECT_GT(input_of(plan), 0.5);
  std::vector<std::string> simulated = {"simulate", output, "--cluster", "llama3-16k-h100", "--json"};
  EXPECT_EQ(json::parse(run_command(simulated).out)["waterfall_s"]["input"], 0.0);
  simulated.insert(simulated.end(), heavy.begin(), heavy.end());
  const json step = json::parse(run_command(simulated).out);
  EXPECT_NEAR(step["step_time_s"].get<double>(), 3.2, 1e-6);
  double losses = 0.0;
  for (const auto& [name, part] : step["waterfall_s"].items()) {
    losses += part.get<double>();
  }
  EXPECT_NEAR(losses, 3.2, 1e-6);
}

// What the command predicts is the time to read its data: taken for a run it would slow the kernels down.
TEST(PlanCluster, AnAnchorThatWaitsForDataIsRefused) {
  const TemporaryFolder folder;
  const std::string mine = folder.path() / "mine.json";
  const std::vector<std::string> flags = {"--tp",           "4",    "--pp",        "1",      "--micro-batch", "1",
                                          "--sample-bytes", "2 GB", "--node-rate", "10 GB/s"};
  std::vector<std::string> first = flags;
  first.insert(first.end(), {"--output", mine});
  EXPECT_NEAR(answer(first)["layouts"][0]["step_time_s"].get<double>(), 3.2, 1e-6);  // as above
  std::vector<std::string> again = flags;
  again.insert(again.end(), {"--anchor", mine + "=3.2s"});
  const CommandResult result = run_command(plan_command(again));
  EXPECT_EQ(result.exit_code, 2) << result.out;
  EXPECT_NE(result.err.find("reading its data takes 3.2 s"), std::string::npos) << result.err;
}

// Its plan says that it ran on H100s; and a profile of theirs is taken on A100s with a note.
TEST(PlanCluster, RunsAndProfilesOfAnotherGenerationAreNotTakenSilently) {
  const TemporaryFolder folder;
  const std::string mine = folder.path() / "mine.json";
  const std::string stack = folder.path() / "stack.json";
  const std::vector<std::string> layout = {"--tp", "4", "--pp", "1"};
  const auto on = [&](const std::string& cluster, std::vector<std::string> more) {
    more.insert(more.end(), layout.begin(), layout.end());
    return run_command(plan_command(more, cluster));
  };
  ASSERT_EQ(on("", {"--output", mine}).exit_code, 0);
  ASSERT_EQ(on("", {"--anchor", mine + "=5s", "--save-stack", stack}).exit_code, 0);
  EXPECT_EQ(on("", {"--stack", stack}).err.find("generation"), std::string::npos);
  const CommandResult anchored = on("selene-a100", {"--anchor", mine + "=5s"});
  EXPECT_EQ(anchored.exit_code, 2);
  EXPECT_NE(anchored.err.find("llama3-16k-h100, of another generation"), std::string::npos) << anchored.err;
  const CommandResult taken = on("selene-a100", {"--stack", stack});
  EXPECT_EQ(taken.exit_code, 0);
  EXPECT_NE(taken.err.find("is of hopper, another generation than a100"), std::string::npos) << taken.err;
}

// The same run given to the profile that follows it: the same profile, and a note.
TEST(PlanCluster, ARunGivenAgainCountsOnce) {
  const TemporaryFolder folder;
  const std::string mine = folder.path() / "mine.json";
  const std::string once = folder.path() / "once.json";
  const std::string twice = folder.path() / "twice.json";
  const auto plan = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--tp", "4", "--pp", "1"});
    const CommandResult result = run_command(plan_command(more));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.err;
  };
  plan({"--output", mine});
  plan({"--anchor", mine + "=4s", "--save-stack", once});
  const std::string err = plan({"--stack", once, "--anchor", mine + "=4s", "--save-stack", twice});
  EXPECT_NE(err.find("counts already"), std::string::npos) << err;
  EXPECT_EQ(read_text_file(twice), read_text_file(once));
}

// One rank of dp alone has neither communication nor bubbles: compute is all of its step, but not of one that waits.
TEST(PlanCluster, TheSentenceUnderTheTimesSaysWhichRowsMakeTheStep) {
  const TemporaryFolder folder;
  const std::string output = folder.path() / "plan.json";
  const std::string models = std::string(TRAINYARD_SOURCE_DIR) + "/models/";
  const CommandResult planned =
      run_command({"plan", "--model", models + "llm/llama-3-8b.json", "--cluster", "gb300-nvl72-8", "--ranks", "1",
                   "--sequence", "2048", "--global-batch", "1", "--recompute", "full", "--output", output});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  const std::vector<std::string> simulate = {"simulate", output, "--cluster", "gb300-nvl72-8"};
  const std::string out = run_command(simulate).out;
  EXPECT_EQ(out.find("\nwaiting "), std::string::npos) << out;
  EXPECT_NE(out.find("the last is the step.\n"), std::string::npos) << out;
  std::vector<std::string> fed = simulate;
  fed.insert(fed.end(), {"--sample-bytes", "1 TB"});
  const std::string waits = run_command(fed).out;
  EXPECT_NE(waits.find("the last is the step before it waits for data.\n"), std::string::npos) << waits;
}

TEST(PlanCluster, AnAnchorThatSaysTooLittleIsAnErrorWithAWayOut) {
  const TemporaryFolder folder;
  const std::string mine = folder.path() / "mine.json";
  ASSERT_EQ(run_command(plan_command({"--output", mine})).exit_code, 0);
  struct Case {
    std::vector<std::string> flags;
    const char* says;
  };
  for (const Case& c :
       {Case{{"--anchor", mine}, "PLAN=TIME"}, Case{{"--anchor", mine + "=5"}, "--anchor"},
        Case{{"--anchor", mine + "=1h"}, "are predicted"}, Case{{"--anchor", "none.json"}, "none.json"},
        Case{{"--anchor", folder.path()}, "holds no run"}, Case{{"--save-stack", "x.json"}, "--anchor RUN"},
        Case{{"--anchor", mine + "=3s", "--save-stack", mine}, "--save-stack"}}) {
    const CommandResult result = run_command(plan_command(c.flags));
    EXPECT_EQ(result.exit_code, 2) << c.says << result.out;
    EXPECT_NE(result.err.find(c.says), std::string::npos) << result.err;
  }
}

}  // namespace
}  // namespace trainyard::cli
