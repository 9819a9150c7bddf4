// The `trainyard` command: parses, runs the verb, and turns what went wrong into a message and an exit code.
#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <filesystem>
#include <new>
#include <system_error>

#include "cli/command_line.h"
#include "cli/exit_code.h"
#include "cli/json/output.h"
#include "cli/session.h"
#include "core/error.h"

namespace trainyard::cli {

namespace {

constexpr const char* kOutputHint = "is the disk full, or the pipe closed?";

void report(const Session& session, const std::string& problem, const std::string& where, const std::string& hint) {
  // "trainyard plan" names the program already.
  const std::string program = where.starts_with("trainyard") ? "" : "trainyard: ";
  const std::string place = where.empty() ? "" : where + ": ";
  // Not fmt::print, which throws where standard error can't be written: nothing is left to catch it here.
  std::fputs(fmt::format("{}{}\n", session.err.red(program + place), problem).c_str(), stderr);
  if (!hint.empty()) {
    std::fputs(fmt::format("  {}\n", hint).c_str(), stderr);
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
    throw Error("can't write", "standard output", kOutputHint);
  }
  return code;
}

// A pipe that gets the number of a closed standard stream would be mistaken for it. Messages go nowhere then, as
// asked; input and output are opened the wrong way round, so that using them still fails.
void fill_closed_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) < 0) {
      // The lowest free number is the stream's, as those before it are taken.
      [[maybe_unused]] const int opened = ::open("/dev/null", stream == STDOUT_FILENO ? O_RDONLY : O_WRONLY);
    }
  }
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
    report(session, "this machine has too little memory for that", "",
           "something smaller: fewer ranks, a smaller model, batch or cluster");
  } catch (const std::filesystem::filesystem_error& failure) {
    report(session, failure.code().message(), failure.path1().string(), "check the path and its permissions");
  } catch (const std::system_error& failure) {
    if (failure.code() != std::errc::resource_unavailable_try_again) {
      report(session, failure.what(), "", "");
      return kFailedRun;
    }
    report(session, "a thread can't be started: too little memory, or too many threads", "",
           "something smaller, fewer --threads, or see ulimit -a");
    return kFailedRun;
  } catch (const std::exception& failure) {  // a library's: the network, the file system
    if (std::ferror(stdout) != 0) {
      report(session, failure.what(), "standard output", kOutputHint);
      return kUserError;
    }
    report(session, failure.what(), "", "");
    return kFailedRun;
  }
  return kUserError;
}

}  // namespace

}  // namespace trainyard::cli

int main(int argc, char** argv) {
  trainyard::cli::fill_closed_standard_streams();
  // A file that grows over the limit is a failed write with its message, not the end of the run.
  std::signal(SIGXFSZ, SIG_IGN);
  return trainyard::cli::guarded(argc, argv);
}
