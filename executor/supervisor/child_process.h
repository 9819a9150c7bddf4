// ChildProcess: a program started as a process group of its own, with its output in pipes.
//
// It is killed by the kernel when the thread that started it ends, so that no rank outlives its launcher.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "executor/supervisor/file_descriptor.h"

namespace trainyard::executor {

enum class OutputStream { kOut, kErr };

class ChildProcess {
 public:
  // command[0] is a path, or a name to look for in PATH. environment replaces the parent's. Throws Error if the program
  // can't be started.
  ChildProcess(const std::vector<std::string>& command, const std::vector<std::string>& environment);
  ChildProcess(ChildProcess&&) = default;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();  // kills and reaps one still running

  pid_t pid() const { return pid_; }
  const FileDescriptor& ended() const { return pidfd_; }  // readable once the process has ended
  const FileDescriptor& output(OutputStream stream) const { return stream == OutputStream::kOut ? out_ : err_; }

  // Passes on what has been written so far, without blocking; closes a pipe at its end.
  void drain(OutputStream stream, const std::function<void(std::string_view)>& take);
  void signal_group(int signal) const;
  // The wait status if the process has ended. Reaps it.
  std::optional<int> reap();
  bool running() const { return pid_ > 0; }

 private:
  struct OwnedPid {  // moves leave nothing behind
    pid_t value = -1;
    OwnedPid() = default;
    OwnedPid(OwnedPid&& other) noexcept : value(std::exchange(other.value, -1)) {}
    OwnedPid& operator=(pid_t pid) { return value = pid, *this; }
    operator pid_t() const { return value; }
  };
  OwnedPid pid_;
  FileDescriptor pidfd_;
  FileDescriptor out_;
  FileDescriptor err_;
};

// "exited with 3", "killed by signal 9 (SIGKILL)".
std::string describe_wait_status(int status);

}  // namespace trainyard::executor
