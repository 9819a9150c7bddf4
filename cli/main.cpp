// The `trainyard` command: parses, runs the verb, and turns what went wrong into a message and an exit code.
#include <fmt/core.h>
#include <fmt/format.h>
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <new>

#include "cli/command_line.h"
#include "cli/exit_code.h"
#include "cli/json/output.h"
#include "cli/session.h"
#include "core/error.h"

namespace trainyard::cli {

namespace {

void report(const Session& session, const std::string& problem, const std::string& where, const std::string& hint) {
  // "trainyard plan" names the program already.
  const std::string program = where.starts_with("trainyard") ? "" : "trainyard: ";
  const std::string place = where.empty() ? "" : where + ": ";
  fmt::print(stderr, "{}{}\n", session.err.red(program + place), problem);
  if (!hint.empty()) {
    fmt::print(stderr, "  {}\n", hint);
  }
  if (session.json) {
    print_error_json(problem, where, hint);
  }
}

int run_command(int argc, char** argv, Session& session) {
  const CommandLine command = parse_command_line(argc, argv, session);
  const int code = command.action ? command.action(session) : kOk;
  // A full disk or a closed pipe shows only now: standard output is buffered.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw Error("can't write", "standard output", "is the disk full, or the pipe closed?");
  }
  return code;
}

int guarded(int argc, char** argv) {
  Session session;
  session.out = Style::for_descriptor(STDOUT_FILENO);
  session.err = Style::for_descriptor(STDERR_FILENO);
  std::error_code ignored;
  session.executable = std::filesystem::read_symlink("/proc/self/exe", ignored);
  try {
    return run_command(argc, argv, session);
  } catch (const Error& error) {
    report(session, error.problem(), error.where(), error.hint());
  } catch (const std::bad_alloc&) {
    report(session, "this machine has too little memory for that", "", "a smaller model, batch or number of ranks");
  } catch (const std::exception& failure) {  // a library's: the network, the file system
    report(session, failure.what(), "", "");
    return kFailedRun;
  }
  return kUserError;
}

}  // namespace

}  // namespace trainyard::cli

int main(int argc, char** argv) { return trainyard::cli::guarded(argc, argv); }
