#include "executor/run/rank_connection.h"

#include <algorithm>
#include <chrono>

#include "executor/communicator/gloo_communicator.h"
#include "executor/device/cpu_device.h"

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
GlooOptions gloo_options(const RankEnvironment& environment, const RecoveryPolicy& recovery) {
  GlooOptions options;
  options.prefix = environment.prefix;
  options.timeout = in_milliseconds(recovery.hang_timeout) * 2 + std::chrono::seconds(30);
  return options;
}

}  // namespace

RankConnection::RankConnection(const RankEnvironment& environment, int threads, const RecoveryPolicy& recovery)
    : store_(environment.store),
      device_(make_cpu_device({.threads = threads, .on_failure = [this] { abort("work on another stream failed"); }})),
      communicator_(make_gloo_communicator(*device_, store_, Rank(environment.rank), environment.size,
                                           gloo_options(environment, recovery))) {
  reachable_ = communicator_.get();
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
