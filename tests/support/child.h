// Child: a process that a test has forked. Killed and reaped when it is forgotten, so that an assertion which leaves
// the test early leaves no process behind.
#pragma once

#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <cerrno>
#include <stdexcept>

namespace trainyard {

class Child {
 public:
  // pid: what fork() gave the parent. group: the child leads a process group, which is killed with it.
  explicit Child(pid_t pid, bool group = false) : pid_(pid), group_(group) {
    if (pid < 0) {
      throw std::runtime_error("no process can be forked");
    }
  }
  ~Child() {
    if (running()) {
      ::kill(group_ ? -pid_ : pid_, SIGKILL);
      wait();
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }  // stays its number after wait()
  bool running() const { return !reaped_; }

  // Blocks until it has ended; its wait status. Once.
  int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    reaped_ = true;
    return status;
  }

 private:
  pid_t pid_;
  bool group_;
  bool reaped_ = false;
};

}  // namespace trainyard
