// The `collective` verb, as a user runs it, and how it reads ranks and sizes.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/rank_groups.h"
#include "core/error.h"
#include "tests/cli/command.h"
#include "tests/support/error_of.h"

namespace trainyard::cli {
namespace {

TEST(RankGroups, RanksAsRangesListsAndSteps) {
  EXPECT_EQ(parse_ranks("0-3,9", 10, "--ranks"), (std::vector<std::int32_t>{0, 1, 2, 3, 9}));
  EXPECT_EQ(parse_ranks("8-15:4,0", 16, "--ranks"), (std::vector<std::int32_t>{8, 12, 0}));
}

TEST(RankGroups, WhatIsNoListOfRanksIsAnErrorWithAWayOut) {
  for (const char* text : {"", "a", "3-1", "0-3:0", "-1", "0-10", "1,1", "0--2"}) {
    EXPECT_EQ(error_of([&] { parse_ranks(text, 10, "--ranks"); }).where(), "--ranks") << text;
  }
}

// 8 ranks, stride 4: {0, 4}, {1, 5}, ...; in blocks of 2 x 2: {0, 2}, {1, 3}, {4, 6}, {5, 7}.
TEST(RankGroups, GroupsByStride) {
  const std::vector<std::int32_t> ranks = parse_ranks("0-7", 8, "--ranks");
  EXPECT_EQ(make_groups(ranks, {.size = 0, .stride = 4}),
            (std::vector<std::vector<std::int32_t>>{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(make_groups(ranks, {.size = 2, .stride = 2}),
            (std::vector<std::vector<std::int32_t>>{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_NE(error_of([&] { make_groups(ranks, {.size = 3, .stride = 1}); }).hint(), "");
}

TEST(RankGroups, SizesByAFactor) {
  EXPECT_EQ(parse_sizes("8B:64B", "--sizes"), (std::vector<double>{8, 16, 32, 64}));
  EXPECT_EQ(parse_sizes("1KiB:64KiB:8,3B", "--sizes"), (std::vector<double>{1024, 8192, 65536, 3}));
  EXPECT_EQ(error_of([] { parse_sizes("8", "--sizes"); }).where(), "--sizes");
  EXPECT_EQ(error_of([] { parse_sizes("1B:8B:1", "--sizes"); }).where(), "--sizes");
  EXPECT_EQ(error_of([] { parse_sizes("1B:8B:1.5", "--sizes"); }).problem(), "'1B:8B:1.5' is not a range of sizes");
}

TEST(CollectiveVerb, PricesPlotsAndSaysWhatALostNicCosts) {
  const TemporaryFolder folder;
  const CommandResult result = run_command({"collective", "superpod-h100:su=1", "--ranks", "0-31", "--sizes",
                                            "1MiB:1GiB:32", "--what-if", "nic:node01/nic3=half", "--svg",
                                            folder.file("plot.svg"), "--csv", folder.file("table.csv"), "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json object = parse_output(result);
  ASSERT_EQ(object["rows"].size(), 3U);
  const nlohmann::json& last = object["rows"].back();
  EXPECT_EQ(last["algorithm"], "nvls_tree");
  EXPECT_LT(last["low_busbw_bytes_per_second"], last["busbw_bytes_per_second"]);
  EXPECT_GT(last["busbw_bytes_per_second"].get<double>(), 300e9);
  EXPECT_LT(object["what_if"]["rows"].back()["busbw_bytes_per_second"].get<double>(),
            0.6 * last["busbw_bytes_per_second"].get<double>());
  EXPECT_EQ(folder.entries(), (std::vector<std::string>{"plot.svg", "table.csv"}));
}

TEST(CollectiveVerb, AnAlgorithmThatCantServeIsAnErrorThatListsThoseThatCan) {
  const CommandResult result =
      run_command({"collective", "pcie-box", "--op", "all_gather", "--algorithm", "tree", "--sizes", "1MiB"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("all-reduce only"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("ring"), std::string::npos) << result.err;
}

// NVLS needs switches that reduce (NVSwitch of the third generation, Hopper's): an A100's don't.
TEST(CollectiveVerb, NvlsIsNeitherPricedNorAdvisedBeforeHopper) {
  const CommandResult result = run_command({"collective", "superpod-a100:su=1", "--ranks", "0-7", "--sizes",
                                            "1MiB:1GiB:32", "--algorithm", "all", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out.find("nvls"), std::string::npos);
  EXPECT_EQ(result.out.find("NVLS"), std::string::npos);
  const CommandResult asked = run_command(
      {"collective", "superpod-a100:su=1", "--ranks", "0-15", "--sizes", "1MiB", "--algorithm", "nvls_tree"});
  EXPECT_EQ(asked.exit_code, 2);
  EXPECT_NE(asked.err.find("Hopper"), std::string::npos) << asked.err;
}

TEST(RankGroups, WhatMakesNoGroupSaysWhy) {
  const auto error = [](int ranks, const GroupOptions& options) {
    const std::vector<std::int32_t> list = parse_ranks("0-" + std::to_string(ranks - 1), 64, "--ranks");
    return error_of([&] { make_groups(list, options); });
  };
  EXPECT_EQ(error(1, {}).where(), "--ranks");
  EXPECT_EQ(error(8, {.size = 1, .stride = 1}).where(), "--group-size");
  EXPECT_EQ(error(4, {.size = 0, .stride = 8}).problem(),
            "a stride of 8 over 4 ranks leaves no two of them in a group");
  EXPECT_EQ(error_of([] { parse_ranks("99999999999", 8, "--ranks"); }).problem(), "no rank 99999999999");
}

// nccl-tests writes 64M for 64 MiB.
TEST(RankGroups, SizesAsNcclTestsWritesThemAndNotBeyondAllMessages) {
  EXPECT_EQ(parse_sizes("64M:128m", "--sizes"), (std::vector<double>{0x1p26, 0x1p27}));
  EXPECT_EQ(parse_sizes("0.5KiB", "--sizes"), std::vector<double>{512});
  EXPECT_NE(error_of([] { parse_sizes("16EiB", "--sizes"); }).problem().find("more than any message"),
            std::string::npos);
  EXPECT_NE(error_of([] { parse_sizes("1.5B", "--sizes"); }).problem().find("whole number of bytes"),
            std::string::npos);
}

// Standard error of a question about two hosts of a small SuperPOD at 1 MiB, with `extra`.
CommandResult ask(const std::vector<std::string>& extra, const std::string& cluster = "superpod-h100:su=1") {
  std::vector<std::string> arguments = {"collective", cluster, "--sizes", "1MiB", "--no-advice"};
  arguments.insert(arguments.end(), extra.begin(), extra.end());
  return run_command(arguments);
}

void expect(const CommandResult& result, int code, const std::string& text) {
  EXPECT_EQ(result.exit_code, code) << result.err;
  EXPECT_NE(result.err.find(text), std::string::npos) << text << " isn't in:\n" << result.err;
}

TEST(CollectiveVerb, FlagsThatDecideNothingAreSaid) {
  expect(ask({"--ranks", "0-15", "--seeds", "4"}), 0, "--seeds changes nothing: adaptive");
  expect(ask({"--ranks", "0-15", "--routing", "spray", "--hash-alike"}), 0, "--hash-alike changes nothing: spray");
  expect(ask({"--ranks", "0-7", "--cross-nic"}), 0, "--cross-nic changes nothing: the ranks are on one node");
  EXPECT_EQ(ask({"--ranks", "0-15", "--routing", "HASH", "--seeds", "4", "--protocol", "ll", "--type", "Half"}).err,
            "");
}

TEST(CollectiveVerb, WhatCannotBeIsRefusedWithAWayOut) {
  const TemporaryFolder folder;
  const std::string file = folder.file("one");
  expect(ask({"--svg", file, "--csv", folder.path().string() + "/./one"}), 2, "--csv: the same file as --svg");
  expect(ask({"--svg", ""}), 2, "--svg: is empty");
  EXPECT_TRUE(folder.entries().empty());
  expect(ask({"--node", "x.xml"}), 2, "--node");
  expect(ask({"--algorithm", "nvls"}), 2, "--sharp");
  expect(ask({}, "pcie-box:gpus=1"), 2, "--list");
  expect(ask({"--cross-nic"}, "rail-only"), 2, "--cross-nic may send data to another rail");
  expect(ask({"--what-if", "nic:node01/nic3=1e-9"}), 2, "=down");
  expect(ask({"--what-if", "nic:node01/nic3=cable-down"}), 2, "single cable");
}

TEST(CollectiveVerb, AnAnchorOfOtherGpusIsRefusedAndOfAnotherOperationSaid) {
  const TemporaryFolder folder;
  const auto log = [&](const std::string& gpu) {
    std::string text;
    for (int rank = 0; rank < 8; ++rank) {
      text += "#  Rank  " + std::to_string(rank) + " Group  0 Pid 1 on host0 device  0 [0000:19:00] " + gpu + "\n";
    }
    return folder.write(
        gpu.substr(7, 4) + ".log",
        text + "  67108864  16777216  float  sum  -1  324.7  206.67  361.67  0  324.0  206.0  361.0  0\n");
  };
  expect(ask({"--ranks", "0-7", "--anchor", log("NVIDIA A100-SXM4-40GB")}), 2, "is of NVIDIA A100");
  const std::string own = log("NVIDIA H100 80GB HBM3");
  expect(ask({"--ranks", "0-7", "--op", "all_to_all", "--anchor", own}), 0, "no anchor is of an operation");
  EXPECT_EQ(ask({"--ranks", "0-7", "--algorithm", "ring", "--anchor", own}).err +
                ask({"--ranks", "0-7", "--algorithm", "nvls", "--anchor", own}).err,
            "note: no anchor is of an operation and algorithm priced here: they change nothing\n");
}

// All-to-all over 2,048 GPUs takes tens of seconds; Ctrl-C ends it at once, and no file is begun.
TEST(CollectiveVerb, AnInterruptEndsALongAnswerAtOnceAndWritesNothing) {
  const TemporaryFolder folder;
  for (const int signal : {SIGINT, SIGTERM}) {
    const bool as_json = signal == SIGTERM;
    std::vector<std::string> words = {"collective",     "alibaba-hpn:segments=2",
                                      "--op",           "all_to_all",
                                      "--group-stride", "8",
                                      "--svg",          folder.file("plot.svg"),
                                      "--csv",          folder.file("table.csv")};
    if (as_json) {
      words.emplace_back("--json");
    }
    Command command(words);
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    command.send_signal(signal);
    const auto sent = std::chrono::steady_clock::now();
    const CommandResult result = command.wait();
    EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - sent).count(), 1.0);
    EXPECT_EQ(result.exit_code, 130);
    EXPECT_EQ(result.out, as_json ? "{\"interrupted\": true}\n" : "");
    EXPECT_NE(result.err.find("interrupted"), std::string::npos) << result.err;
    EXPECT_TRUE(folder.entries().empty());
  }
}

}  // namespace
}  // namespace trainyard::cli
