// trainyard collect: the script that gathers a node's topology files, for nodes where trainyard isn't installed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/collect_script.h"
#include "cli/exit_code.h"
#include "cli/json/output.h"
#include "cli/long_answer.h"
#include "cli/verbs.h"
#include "core/document/write_file.h"

namespace trainyard::cli {

namespace {

int collect(const Session& session, const std::string& output) {
  if (!output.empty()) {
    LongAnswer(session).commit([&] { write_file(output, collect_script()); });
  }
  if (session.json) {
    print_json(output.empty() ? nlohmann::ordered_json{{"script", std::string(collect_script())}}
                              : nlohmann::ordered_json{{"written", output}});
  } else if (output.empty()) {
    fmt::print("{}", collect_script());
  } else {
    fmt::print("{}: copy it to a node and run it there: sh {}\n", output,
               std::filesystem::path(output).filename().string());
  }
  return kOk;
}

}  // namespace

void add_collect(CLI::App& app, Session& session, Action& action) {
  auto output = std::make_shared<std::string>();
  CLI::App* verb = add_verb(app, session,
                            {"collect", "Print the script that gathers a node's topology files",
                             "  trainyard collect --output collect.sh, then on a node: sh collect.sh\n"
                             "  trainyard collect | ssh node sh"});
  verb->add_option("--output", *output, "Write it to a file instead")->type_name("FILE");
  verb->callback([output, &action] { action = [output](const Session& s) { return collect(s, *output); }; });
}

}  // namespace trainyard::cli
