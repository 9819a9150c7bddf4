#include "executor/supervisor/watcher.h"

#include <utility>

#include "core/error.h"
#include "executor/supervisor/job_keys.h"

namespace trainyard::executor {

Watcher::Watcher(const RankEnvironment& rank, OnAbort on_abort, std::chrono::milliseconds heartbeat_interval,
                 std::function<RankProgress()> progress)
    : store_(rank.store),
      abort_key_(abort_key(rank.prefix)),
      heartbeat_key_(heartbeat_key(rank.prefix, rank.rank)),
      progress_key_(progress_key(rank.prefix, rank.rank)),
      on_abort_(std::move(on_abort)),
      heartbeat_interval_(heartbeat_interval),
      progress_(std::move(progress)) {
  thread_ = std::thread([this] { watch(); });
}

Watcher::~Watcher() {
  stopping_ = true;
  store_.interrupt();
  thread_.join();
}

void Watcher::watch() {
  std::string why;
  try {
    do {
      store_.add(heartbeat_key_, 1);
      if (progress_) {
        store_.set(progress_key_, to_text(progress_()));
      }
    } while (!stopping_ && !store_.wait({abort_key_}, heartbeat_interval_));
    why = stopping_ ? "" : store_.get(abort_key_).value_or("");
  } catch (const Error& error) {
    why = error.problem();
  }
  if (!stopping_) {
    on_abort_(why);
  }
}

}  // namespace trainyard::executor
