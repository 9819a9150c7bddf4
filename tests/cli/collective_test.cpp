// The `collective` verb, as a user runs it, and how it reads ranks and sizes.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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

}  // namespace
}  // namespace trainyard::cli
