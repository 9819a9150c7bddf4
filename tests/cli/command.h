// Runs the built `trainyard` as a user would: a process of its own, its output in pipes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/child.h"

namespace trainyard::cli {

struct CommandResult {
  int exit_code = -1;  // 128 + signal when a signal ended it
  std::string out;
  std::string err;
  std::chrono::duration<double> elapsed{};
};

// A started command, in its own process group; killed with it when forgotten.
class Command {
 public:
  explicit Command(const std::vector<std::string>& arguments);
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  pid_t pid() const { return child_->pid(); }
  void send_signal(int signal) const;
  // Reads both outputs until the command closes them, then reaps it. Kills it after `limit`.
  CommandResult wait(std::chrono::seconds limit = std::chrono::seconds(120));
  // Processes of this command's group that still run, itself included until it is reaped.
  std::vector<pid_t> group_members() const;

 private:
  void read_outputs(CommandResult& result, std::chrono::steady_clock::time_point deadline);
  std::optional<Child> child_;
  int out_ = -1;
  int err_ = -1;
  std::chrono::steady_clock::time_point started_;
};

CommandResult run_command(const std::vector<std::string>& arguments);

// Standard output as JSON; fails the test where it isn't one object.
nlohmann::json parse_output(const CommandResult& result);

// An empty directory of the test's own, removed afterwards.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const;  // returns the path
  // Names in it, sorted: nothing half-written may be left behind.
  std::vector<std::string> entries() const;

 private:
  std::filesystem::path path_;
};

}  // namespace trainyard::cli
