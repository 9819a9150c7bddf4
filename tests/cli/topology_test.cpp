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

}  // namespace
}  // namespace trainyard::cli
