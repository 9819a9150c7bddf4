// What every verb has in common: help, --json for errors, exit codes, suggestions.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command.h"

namespace trainyard::cli {

class EveryVerb : public testing::TestWithParam<const char*> {};

TEST_P(EveryVerb, HasHelpWithAnExample) {
  const CommandResult result = run_command({GetParam(), "--help"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("Example:\n  trainyard " + std::string(GetParam())), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("--json"), std::string::npos);
}

TEST_P(EveryVerb, RejectsAnUnknownFlagAndNamesTheNearest) {
  const CommandResult result = run_command({GetParam(), "--jsno"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("--jsno"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("did you mean --json?"), std::string::npos) << result.err;
}

INSTANTIATE_TEST_SUITE_P(CommandLine, EveryVerb,
                         testing::Values("doctor", "calibrate", "plan", "simulate", "run", "compare", "topology",
                                         "trace", "collective", "program"),
                         [](const auto& parameter) { return std::string(parameter.param); });

TEST(CommandLine, NamesTheVerbThatAMistypedOneMeant) {
  const CommandResult result = run_command({"simulat"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("did you mean simulate?"), std::string::npos) << result.err;
}

TEST(CommandLine, WithoutAVerbListsThem) {
  const CommandResult result = run_command({});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("calibrate"), std::string::npos) << result.err;
}

TEST(CommandLine, PrintsItsVersion) {
  const CommandResult result = run_command({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out.rfind("trainyard ", 0), 0U) << result.out;
}

TEST(CommandLine, UnderJsonAnErrorIsAnObjectToo) {
  const CommandResult result = run_command({"program", "no-such-plan.json", "--json"});
  EXPECT_EQ(result.exit_code, 2);
  const nlohmann::json object = parse_output(result);
  EXPECT_TRUE(object["error"]["problem"].is_string());
  EXPECT_EQ(object["error"]["where"], "no-such-plan.json");
  EXPECT_TRUE(object["error"]["hint"].is_string());
}

TEST(CommandLine, HelpListsTheVerbsButNotTheHiddenOne) {
  const CommandResult result = run_command({"--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.out.find("doctor"), std::string::npos);
  EXPECT_EQ(result.out.find("\n  rank "), std::string::npos) << result.out;
}

}  // namespace trainyard::cli
