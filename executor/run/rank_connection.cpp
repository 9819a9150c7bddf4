#include "executor/run/rank_connection.h"

#include <algorithm>
#include <chrono>

namespace trainyard::executor {

namespace {

using std::chrono::milliseconds;

milliseconds in_milliseconds(Seconds time) { return milliseconds(static_cast<std::int64_t>(time.si() * 1e3)); }

// Often enough that neither timeout is missed by much.
milliseconds beat_interval(const RecoveryPolicy& recovery) {
  const Seconds shortest = std::min(recovery.hang_timeout, recovery.heartbeat_timeout);
  return std::clamp(in_milliseconds(shortest) / 4, milliseconds(20), milliseconds(1000));
}

// The launcher's timeout comes first, for it knows which rank is to blame; a rank's own wait is the last resort.
milliseconds wait_timeout(const RecoveryPolicy& recovery) {
  return in_milliseconds(recovery.hang_timeout) * 2 + std::chrono::seconds(30);
}

}  // namespace

RankConnection::RankConnection(const RankEnvironment& environment, const DeviceChoice& choice, int threads,
                               const RecoveryPolicy& recovery)
    : store_(environment.store),
      backend_(environment, {.choice = choice,
                             .threads = threads,
                             .on_failure = [this] { abort("work on another stream failed"); },
                             .timeout = wait_timeout(recovery)}) {
  reachable_ = &backend_.communicator();
  watcher_ = std::make_unique<Watcher>(
      environment, [this](const std::string& why) { abort(why); }, beat_interval(recovery),
      [this] { return progress(); });
}

RankConnection::~RankConnection() {
  watcher_.reset();
  reachable_ = nullptr;
}

void RankConnection::begin_step(std::int64_t step) {
  step_ = step;
  tick();
}

void RankConnection::abort(const std::string& why) {
  if (Communicator* communicator = reachable_.load()) {
    communicator->abort(why);
  }
}

RankProgress RankConnection::progress() const {
  const Communicator* communicator = reachable_.load();
  return {.ticks = ticks_, .step = step_, .waiting = communicator != nullptr && communicator->waiting()};
}

}  // namespace trainyard::executor
