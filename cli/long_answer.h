// LongAnswer: while it lives, a line on a terminal says how far an answer is, and Ctrl-C or SIGTERM ends the program at
// once, with exit code 130.
//
// Files are written in commit(), which is not cut short: an answer's files are all there or none is. Printing comes
// after it, when signals do again what they did.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "cli/session.h"
#include "cli/text/progress.h"
#include "executor/supervisor/file_descriptor.h"
#include "executor/supervisor/signal_relay.h"

namespace trainyard::cli {

class LongAnswer {
 public:
  explicit LongAnswer(const Session& session);
  ~LongAnswer();  // clears the line
  LongAnswer(const LongAnswer&) = delete;
  LongAnswer& operator=(const LongAnswer&) = delete;

  void show(const std::string& text);  // on a terminal only
  void commit(const std::function<void()>& write);

 private:
  void watch();

  bool terminal_;
  bool json_;
  std::mutex busy_;  // held while something is written
  ProgressLine line_;
  executor::SignalRelay signals_;
  executor::FileDescriptor done_;
  std::thread watcher_;
};

}  // namespace trainyard::cli
