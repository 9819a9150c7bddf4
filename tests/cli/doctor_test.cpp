#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/command.h"

namespace trainyard::cli {

TEST(Doctor, FindsThisMachineReadyAndSaysSoAsJson) {
  const CommandResult result = run_command({"doctor", "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.out;
  const nlohmann::json object = parse_output(result);
  EXPECT_EQ(object["ready"], true);
  EXPECT_GE(object["machine"]["cores"].get<int>(), 1);
  EXPECT_GT(object["machine"]["memory_bytes"].get<std::int64_t>(), 0);
  std::set<std::string> names;
  for (const auto& check : object["checks"]) {
    names.insert(check["name"].get<std::string>());
    EXPECT_NE(check["health"], "problem") << check;
  }
  for (const char* name :
       {"processor", "cores", "memory", "disk", "ports", "matrix product", "collective", "gpu", "cuda", "nccl"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  // Whose attention a GPU would run is a matter of programs with CUDA.
  EXPECT_EQ(names.contains("attention"), object["gpu"]["built_with_cuda"] == true);
  if (object["gpu"]["built_with_cuda"] == true) {
    EXPECT_TRUE(object["gpu"]["cudnn"] != "" || object["gpu"]["cudnn_problem"] != "");
  }
}

TEST(Doctor, PrintsPlainTextWhenItIsNoTerminal) {
  const CommandResult result = run_command({"doctor"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out.find('\x1b'), std::string::npos);
  EXPECT_NE(result.out.find("Ready"), std::string::npos) << result.out;
}

}  // namespace trainyard::cli
