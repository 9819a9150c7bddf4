#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "tests/cli/command.h"

namespace trainyard::cli {
namespace {

// An H100 node's all-reduce at three sizes, a peak without size, and a row that says nothing known.
constexpr const char* kPoints =
    R"({"schema": "id, hardware, collective, size_bytes, busbw_GBps, ...", "count": 5, "points": [
  {"id": "p1", "source": "a/b", "hardware": "8x H100", "nodes": 1, "gpus": 8, "collective": "all_reduce",
   "size_bytes": 16777216, "algbw_GBps": 135.55, "busbw_GBps": 237.21, "algo": "default", "time_us": 123.8, "notes": ""},
  {"id": "p2", "source": "a/b", "hardware": "8x H100", "nodes": 1, "gpus": 8, "collective": "all_reduce",
   "size_bytes": 134217728, "algbw_GBps": 228.88, "busbw_GBps": 400.53, "algo": "default", "time_us": 586.4, "notes": ""},
  {"id": "p3", "source": "a/b", "hardware": "8x H100", "nodes": 1, "gpus": 8, "collective": "all_reduce",
   "size_bytes": 8589934592, "algbw_GBps": 274.38, "busbw_GBps": 480.16, "algo": "default", "time_us": 31307, "notes": ""},
  {"id": "p4", "source": "a/b", "hardware": "8x H100", "nodes": 1, "gpus": 8, "collective": "all_reduce",
   "size_bytes": null, "algbw_GBps": null, "busbw_GBps": 480, "algo": "NVLS", "time_us": null, "notes": "peak"},
  {"id": "p5", "source": "a/b", "hardware": "an abacus", "nodes": 1, "gpus": 8, "collective": "all_reduce",
   "size_bytes": 1024, "algbw_GBps": 1, "busbw_GBps": 1.75, "algo": "default", "time_us": null, "notes": ""}]})";

constexpr const char* kLog =
    "#  Rank  0 Group  0 Pid 1 on host0 device  0 [0000:19:00] NVIDIA H100 80GB HBM3\n"
    "     4194304       1048576     float     sum      -1    54.19   77.39  135.44      0    54.0   77.0  135.0      "
    "0\n"
    "    16777216       4194304     float     sum      -1    123.8  135.55  237.21      0   123.0  135.0  237.0      "
    "0\n"
    "    67108864      16777216     float     sum      -1    324.7  206.67  361.67      0   324.0  206.0  361.0      "
    "0\n"
    "   268435456      67108864     float     sum      -1   1112.5  241.29  422.25      0  1112.0  241.0  422.0      "
    "0\n"
    "  1073741824     268435456     float     sum      -1   4029.4  266.48  466.33      0  4029.0  266.0  466.0      "
    "0\n"
    "  8589934592    2147483648     float     sum      -1    31307  274.38  480.16      0   31300  274.0  480.0      "
    "0\n";

std::string eight_rank_log() {
  std::string log;
  for (int rank = 1; rank < 8; ++rank) {
    log +=
        "#  Rank  " + std::to_string(rank) + " Group  0 Pid 1 on host0 device  1 [0000:19:00] NVIDIA H100 80GB HBM3\n";
  }
  return log + kLog;
}

TEST(Validate, PrintsRowsWithErrorIntervalFlagsAndReasonAsJson) {
  const TemporaryFolder folder;
  const std::string file = folder.write("points.json", kPoints);
  const CommandResult result = run_command({"validate", file, "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json object = parse_output(result);
  EXPECT_EQ(object["kind"], "collectives");
  ASSERT_EQ(object["rows"].size(), 5U);
  for (std::size_t i = 0; i < 3; ++i) {
    const nlohmann::json& row = object["rows"][i];
    const auto predicted = row["predicted"].get<double>();
    const auto measured = row["measured"].get<double>();
    EXPECT_NEAR(row["error"].get<double>(), predicted / measured - 1.0, 1e-9);
    EXPECT_LT(std::abs(row["error"].get<double>()), 0.15);
    EXPECT_LT(row["low"].get<double>(), predicted);
    EXPECT_GT(row["high"].get<double>(), predicted);
    EXPECT_TRUE(row["flags"].is_array());
    EXPECT_FALSE(row.contains("reason"));
  }
  EXPECT_NEAR(object["rows"][0]["measured"].get<double>(), 237.2, 0.1);
  EXPECT_EQ(object["rows"][3]["flags"], nlohmann::json::array({"peak"}));
  EXPECT_TRUE(object["rows"][4]["predicted"].is_null());
  EXPECT_NE(object["rows"][4]["reason"].get<std::string>().find("abacus"), std::string::npos);
  EXPECT_EQ(object["summary"]["scored"], 4);
  EXPECT_EQ(object["summary"]["from_1_mib"]["rows"], 3);
}

TEST(Validate, AnchorNarrowsTheIntervalOfItsSystem) {
  const TemporaryFolder folder;
  const std::string file = folder.write("points.json", kPoints);
  const std::string log = folder.write("all_reduce_perf.log", eight_rank_log());
  const nlohmann::json without = parse_output(run_command({"validate", file, "--json"}));
  const nlohmann::json with = parse_output(run_command({"validate", file, "--anchor", log, "--json"}));
  for (std::size_t i = 0; i < 3; ++i) {
    const auto width = [i](const nlohmann::json& object) {
      return object["rows"][i]["high"].get<double>() / object["rows"][i]["low"].get<double>();
    };
    EXPECT_LT(width(with), width(without)) << i;
    EXPECT_EQ(with["rows"][i]["evidence"], "anchored");
  }
}

TEST(Validate, BadFilesAreErrorsThatNameThem) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_command({"validate", folder.file("missing.json")}).exit_code, 2);
  EXPECT_EQ(run_command({"validate", folder.write("empty.json", "{}")}).exit_code, 2);
  const std::string file = folder.write("points.json", kPoints);
  const CommandResult result = run_command({"validate", file, "--anchor", folder.write("x.log", "nothing")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("x.log"), std::string::npos) << result.err;
}

TEST(Validate, WhatWouldBeIgnoredIsRefusedOrSaid) {
  const TemporaryFolder folder;
  const std::string file = folder.write("points.json", kPoints);
  const auto expect = [](const CommandResult& result, int code, const char* text) {
    EXPECT_EQ(result.exit_code, code) << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << text << " isn't in:\n" << result.err;
  };
  expect(run_command({"validate", file, "--hardware", "8x H100"}), 2, "--anchor");
  expect(run_command({"validate", file, "--output", file}), 2, "would replace FILE");
  expect(run_command({"validate", file, "--output", ""}), 2, "--output: is empty");
  expect(run_command({"validate", ""}), 2, "is empty");
  const std::string log = folder.write("all_reduce_perf.log", eight_rank_log());
  expect(run_command({"validate", file, "--anchor", log, "--hardware", "8x A100"}), 2, "is of NVIDIA H100");
  std::string other = std::regex_replace(kPoints, std::regex("H100"), "A100");
  expect(run_command({"validate", folder.write("a100.json", other), "--anchor", log}), 0, "changes nothing");
  other.replace(other.find("\"count\": 5"), 10, "\"count\": 6");
  other.replace(other.find("busbw_GBps, ..."), 10, "weights");
  const CommandResult doubtful = run_command({"validate", folder.write("other.json", other)});
  expect(doubtful, 0, "count is 6 and there are 5 points");
  expect(doubtful, 0, "schema");
}

TEST(Validate, ConstantsAreNotFittedToPointsThatCannotBeUsed) {
  const TemporaryFolder folder;
  const std::string file = folder.write(
      "abacus.json", R"({"points": [{"id": "p", "source": "a/b", "hardware": "an abacus", "nodes": 1, "gpus": 8,
                         "collective": "all_reduce", "size_bytes": 1024, "busbw_GBps": 1.75, "algo": "default"}]})");
  const CommandResult result = run_command({"validate", file, "--fit", "--output", folder.file("curves.json")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("abacus"), std::string::npos) << result.err;
  EXPECT_EQ(folder.entries(), std::vector<std::string>{"abacus.json"});
}

}  // namespace
}  // namespace trainyard::cli
