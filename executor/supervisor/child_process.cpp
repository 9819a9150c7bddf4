#include "executor/supervisor/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "core/error.h"
#include "executor/supervisor/find_program.h"

namespace trainyard::executor {
namespace {

struct Pipe {
  FileDescriptor read;
  FileDescriptor write;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw Error(std::string("can't make a pipe: ") + ::strerror(errno), "launcher", "raise the limit of open files");
  }
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (const std::string& string : strings) {
    result.push_back(const_cast<char*>(string.c_str()));  // execve takes char* and does not write
  }
  result.push_back(nullptr);
  return result;
}

// Also where a signal interrupts it.
int wait_for_end(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// What a child reports of its exec(): errno; 0: it succeeded.
int exec_error(int report) {
  int error = 0;
  ssize_t count = 0;
  do {
    count = ::read(report, &error, sizeof error);
  } while (count < 0 && errno == EINTR);
  return count > 0 ? error : 0;
}

// In the child, between fork and exec: async-signal-safe calls only, for other threads may have held locks.
[[noreturn]] void become(const char* program, char* const* command, char* const* environment, int out, int err,
                         int report, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) {
    ::_exit(127);  // the launcher died before prctl()
  }
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) {
    ::signal(signal, SIG_DFL);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(program, command, environment);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(report, &error, sizeof error);
  ::_exit(127);
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
  check(!command.empty(), "a command has at least its program");
  Pipe out = make_pipe();
  Pipe err = make_pipe();
  Pipe report = make_pipe();  // closed by a successful exec, else carries errno
  const std::optional<std::string> program = find_program(command[0], search_path());
  if (!program) {
    throw Error("can't run " + command[0] + ": no such program in PATH", "launcher", "install it, or give its path");
  }
  const std::vector<char*> argv = pointers(command);
  const std::vector<char*> envp = pointers(environment);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    become(program->c_str(), argv.data(), envp.data(), out.write.number(), err.write.number(), report.write.number(),
           parent);
  }
  if (child < 0) {
    throw Error(std::string("can't start a process: ") + ::strerror(errno), "launcher", "raise the limit of processes");
  }
  pid_ = child;
  ::setpgid(child, child);  // whoever of the two comes first
  report.write.close();
  if (const int error = exec_error(report.read.number()); error != 0) {
    wait_for_end(std::exchange(pid_.value, -1));
    throw Error("can't run " + command[0] + ": " + ::strerror(error), "launcher", "give the path of a program");
  }
  // The header of glibc 2.36 lacks extern "C" for pidfd_open(). Such a descriptor is closed by exec.
  pidfd_ = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  check(pidfd_.open(), "a descriptor for the new process (Linux 5.3)");
  out_ = std::move(out.read);
  err_ = std::move(err.read);
  for (const FileDescriptor* pipe : {&out_, &err_}) {
    ::fcntl(pipe->number(), F_SETFL, O_NONBLOCK);
  }
}

ChildProcess::~ChildProcess() {
  if (running()) {
    signal_group(SIGKILL);
    wait_for_end(pid_);
  }
}

void ChildProcess::drain(OutputStream stream, const std::function<void(std::string_view)>& take) {
  FileDescriptor& pipe = stream == OutputStream::kOut ? out_ : err_;
  std::array<char, 8192> block;
  while (pipe.open()) {
    const ssize_t count = ::read(pipe.number(), block.data(), block.size());
    if (count > 0) {
      take({block.data(), static_cast<std::size_t>(count)});
    } else if (count == 0) {
      pipe.close();
    } else if (errno != EINTR) {
      return;
    }
  }
}

void ChildProcess::signal_group(int signal) const {
  if (running()) {
    ::kill(-pid_, signal);
  }
}

std::optional<int> ChildProcess::reap() {
  siginfo_t ended{};
  if (!running() || ::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      ended.si_pid == 0) {
    return std::nullopt;
  }
  ::kill(-pid_, SIGKILL);  // processes that it left behind; before reaping, while the number is still its own
  const int status = wait_for_end(pid_);
  pid_ = -1;
  pidfd_.close();
  return status;
}

std::string describe_wait_status(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const char* name = ::sigabbrev_np(signal);
    return "killed by signal " + std::to_string(signal) +
           (name != nullptr ? " (SIG" + std::string(name) + ")" : std::string());
  }
  return "exited with " + std::to_string(WEXITSTATUS(status));
}

}  // namespace trainyard::executor
