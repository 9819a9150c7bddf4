// StreamFailure: the first failure of a device's enqueued work. Set from any thread; on_failure is called once, there.
//
// rethrow() throws it again, at each call; work still in the streams looks at failed() and is skipped.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <utility>

namespace trainyard::executor {

class StreamFailure {
 public:
  explicit StreamFailure(std::function<void()> on_failure) : on_failure_(std::move(on_failure)) {}

  bool failed() const { return failed_.load(std::memory_order_acquire); }
  void set(std::exception_ptr failure) {
    {
      const std::lock_guard lock(mutex_);
      if (failure_) {
        return;
      }
      failure_ = std::move(failure);
      failed_.store(true, std::memory_order_release);
    }
    if (on_failure_) {
      on_failure_();
    }
  }
  void rethrow() {
    const std::lock_guard lock(mutex_);
    if (failure_) {
      std::rethrow_exception(failure_);
    }
  }

 private:
  std::function<void()> on_failure_;
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace trainyard::executor
