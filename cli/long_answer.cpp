#include "cli/long_answer.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>

#include "cli/exit_code.h"
#include "core/error.h"

namespace trainyard::cli {

using namespace std::chrono_literals;

LongAnswer::LongAnswer(const Session& session)
    : terminal_(session.err.terminal()), json_(session.json), line_(session.err, 5s), done_(::eventfd(0, EFD_CLOEXEC)) {
  check(done_.number() >= 0, "an event to end the watcher of signals");
  watcher_ = std::thread([this] { watch(); });
}

LongAnswer::~LongAnswer() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(done_.number(), &one, sizeof(one));
  watcher_.join();
}

void LongAnswer::show(const std::string& text) {
  if (terminal_) {
    const std::lock_guard<std::mutex> lock(busy_);
    line_.show(text);
  }
}

void LongAnswer::commit(const std::function<void()>& write) {
  const std::lock_guard<std::mutex> lock(busy_);
  line_.clear();
  write();
}

// Nothing of the answer can be left half done: the process ends here, whatever the other thread computes.
void LongAnswer::watch() {
  std::array<pollfd, 2> files = {pollfd{signals_.readable().number(), POLLIN, 0}, pollfd{done_.number(), POLLIN, 0}};
  while (true) {
    ::poll(files.data(), files.size(), -1);
    if (signals_.take()) {
      const std::lock_guard<std::mutex> lock(busy_);
      line_.clear();
      std::fputs("trainyard: interrupted\n", stderr);
      if (json_) {
        std::fputs("{\"interrupted\": true}\n", stdout);
        std::fflush(stdout);
      }
      ::_exit(kInterrupted);
    }
    if ((files[1].revents & POLLIN) != 0) {
      return;
    }
  }
}

}  // namespace trainyard::cli
