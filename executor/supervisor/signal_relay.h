// SignalRelay: while it lives, SIGINT, SIGTERM and SIGHUP (its terminal closed; not under nohup) to this
// process can be read from a file descriptor instead of ending it.
//
// Signal handlers are the process's, not an object's: there is one relay at a time.
#pragma once

#include <signal.h>

#include <array>
#include <optional>

#include "executor/supervisor/file_descriptor.h"

namespace trainyard::executor {

class SignalRelay {
 public:
  SignalRelay();
  ~SignalRelay();  // restores the handlers
  SignalRelay(const SignalRelay&) = delete;
  SignalRelay& operator=(const SignalRelay&) = delete;

  const FileDescriptor& readable() const { return read_; }
  std::optional<int> take();  // the next signal, if one has come

 private:
  FileDescriptor read_;
  FileDescriptor write_;
  std::array<struct sigaction, 3> before_{};
};

}  // namespace trainyard::executor
