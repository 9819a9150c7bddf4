// The `topology` verb, as a user runs it.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/command.h"

namespace trainyard::cli {
namespace {

TEST(Topology, PrintsTiersCutsAndPathsOfAKnownFabric) {
  const CommandResult result = run_command({"topology", "superpod-h100:su=4"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* part : {"1016 GPUs on 127 hosts, 8 rails", "Quantum-2 QM9700", "exchange 25.2 TB/s", "977 ranks",
                           "Nothing looks wrong."}) {
    EXPECT_NE(result.out.find(part), std::string::npos) << part << "\n" << result.out;
  }
}

TEST(Topology, JsonHasTheSameAnswers) {
  const nlohmann::json object = parse_output(run_command({"topology", "superpod-b200:su=2", "--json"}));
  EXPECT_EQ(object["gpus"], 512);
  EXPECT_EQ(object["backend"][1]["kind"], "leaf");
  EXPECT_EQ(object["backend"][1]["oversubscription"], 1.0);
  EXPECT_EQ(object["bisection"]["share"], 1.0);
  EXPECT_EQ(object["single_points_of_failure"].size(), 16U);
}

TEST(Topology, WritesDrawingsAndAFileThatReadsBackEqual) {
  const TemporaryFolder folder;
  const std::string file = folder.file("cluster.json");
  const CommandResult written = run_command(
      {"topology", "nvl72:racks=2", "--output", file, "--svg", folder.file("c.svg"), "--dot", folder.file("c.dot")});
  EXPECT_EQ(written.exit_code, 0) << written.err;
  EXPECT_GT(std::filesystem::file_size(folder.file("c.svg")), 1000U);
  EXPECT_GT(std::filesystem::file_size(folder.file("c.dot")), 100U);
  const CommandResult equal = run_command({"topology", file, "--diff", "nvl72:racks=2"});
  EXPECT_EQ(equal.out, "no difference\n") << equal.err;
  const nlohmann::json other = parse_output(run_command({"topology", file, "--diff", "nvl72:racks=3", "--json"}));
  EXPECT_EQ(other["equal"], false);
}

TEST(Topology, ListsTheBuilders) {
  EXPECT_NE(run_command({"topology", "--list"}).out.find("alibaba-hpn"), std::string::npos);
  EXPECT_GT(parse_output(run_command({"topology", "--list", "--json"}))["builders"].size(), 10U);
}

TEST(Topology, NamesTheWayOutOfAWrongWord) {
  const CommandResult wrong = run_command({"topology", "superpod-h10"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_NE(wrong.err.find("superpod-h100"), std::string::npos) << wrong.err;
  const CommandResult none = run_command({"topology"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.err.find("--list"), std::string::npos) << none.err;
}

TEST(Topology, WhatWouldBeIgnoredOrOverwrittenIsRefused) {
  const TemporaryFolder folder;
  const std::string file = folder.file("c.json");
  EXPECT_EQ(run_command({"topology", "--list", "nvl72"}).exit_code, 2);
  EXPECT_EQ(run_command({"topology", "nvl72", "--output", file, "--svg", file}).exit_code, 2);
  EXPECT_TRUE(folder.entries().empty());
  ASSERT_EQ(run_command({"topology", "nvl72", "--output", file}).exit_code, 0);
  const CommandResult over = run_command({"topology", file, "--svg", file});
  EXPECT_NE(over.err.find("would replace CLUSTER"), std::string::npos) << over.err;
}

// 30 m of multimode fibre in a SuperPOD: 30 x 4.9 ns, modules and error correction, each with a range.
TEST(Topology, JsonGivesTheRangeOfEachLatency) {
  const nlohmann::json object = parse_output(run_command({"topology", "superpod-h100:su=1", "--json"}));
  // To the leaves one a GPU; 8 leaves of 32 downlinks have as many to the spines.
  ASSERT_GE(object["cables"].size(), 2U);
  EXPECT_EQ(object["cables"][0]["count"], 256);
  EXPECT_EQ(object["cables"][1]["count"], 248);
  for (const nlohmann::json& range : {object["cables"][0]["latency_s"], object["hop_latencies"]["ConnectX-7"]}) {
    EXPECT_LT(range["low"], range["value"]);
    EXPECT_GT(range["high"], range["value"]);
    EXPECT_TRUE(range["source"].is_string());
  }
}

}  // namespace
}  // namespace trainyard::cli
