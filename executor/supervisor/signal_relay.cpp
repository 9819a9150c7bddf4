#include "executor/supervisor/signal_relay.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

#include "core/error.h"

namespace trainyard::executor {
namespace {

constexpr std::array<int, 3> kRelayed{SIGINT, SIGTERM, SIGHUP};

// The one piece of process-wide state: a handler gets nothing but the signal's number. (A signalfd would
// need the signals blocked in all threads, those that libraries start while loading included.)
std::atomic<int> relay_pipe{-1};

void relay(int signal) {
  const int saved = errno;
  const char byte = static_cast<char>(signal);
  [[maybe_unused]] const ssize_t written = ::write(relay_pipe.load(), &byte, 1);
  errno = saved;
}

}  // namespace

SignalRelay::SignalRelay() {
  std::array<int, 2> ends{};
  check(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0, "a pipe for signals");
  read_ = FileDescriptor(ends[0]);
  write_ = FileDescriptor(ends[1]);
  check(relay_pipe.exchange(write_.number()) == -1, "one SignalRelay at a time");
  struct sigaction action {};
  action.sa_handler = relay;
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < kRelayed.size(); ++i) {
    ::sigaction(kRelayed[i], nullptr, &before_[i]);
    if (kRelayed[i] != SIGHUP || before_[i].sa_handler != SIG_IGN) {  // nohup means it
      ::sigaction(kRelayed[i], &action, nullptr);
    }
  }
}

SignalRelay::~SignalRelay() {
  for (std::size_t i = 0; i < kRelayed.size(); ++i) {
    ::sigaction(kRelayed[i], &before_[i], nullptr);
  }
  relay_pipe = -1;
}

std::optional<int> SignalRelay::take() {
  char byte = 0;
  return ::read(read_.number(), &byte, 1) == 1 ? std::optional<int>(byte) : std::nullopt;
}

}  // namespace trainyard::executor
