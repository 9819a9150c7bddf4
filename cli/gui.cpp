// trainyard gui: the desktop program, which is one of its own: this one needs no Qt.
#include "cli/gui.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/verbs.h"
#include "core/error.h"

namespace trainyard::cli {

namespace {

constexpr const char* kProgram = "trainyard-gui";

// Beside this program where they are installed; in a build folder, gui/app beside cli.
std::filesystem::path program_beside(const std::filesystem::path& executable) {
  const std::filesystem::path here = executable.parent_path();
  for (const std::filesystem::path& file : {here / kProgram, here / ".." / "gui" / "app" / kProgram}) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(file, ignored)) {
      return file.lexically_normal();
    }
  }
  throw Error("is not built here: that needs Qt 6", kProgram,
              "on Debian 12: apt-get install qt6-base-dev qt6-svg-dev fonts-dejavu-core, then build again; or "
              "`./bootstrap gui`, which does both");
}

int gui(const Session& session, const std::vector<std::string>& files) {
  const std::filesystem::path program = program_beside(session.executable);
  std::vector<std::string> words = {program.string()};
  words.insert(words.end(), files.begin(), files.end());
  std::vector<char*> arguments;
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  ::execv(program.c_str(), arguments.data());
  throw Error(std::strerror(errno), program.string(), "check the file and its permissions");
}

}  // namespace

void add_gui(CLI::App& app, Session& session, Action& action) {
  auto files = std::make_shared<std::vector<std::string>>();
  CLI::App* verb =
      add_verb(app, session, {"gui", "Open the desktop program", "  trainyard gui mine.study.json config.json"});
  verb->add_option("FILE", *files, "Studies, config.json, topology files, plan.json, runs, failure profiles");
  verb->callback([files, &action] { action = [files](const Session& s) { return gui(s, *files); }; });
}

}  // namespace trainyard::cli
