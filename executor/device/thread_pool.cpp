#include "executor/device/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <string>
#include <system_error>

#include "core/error.h"

namespace trainyard::executor {

struct ThreadPool::Job {
  const std::function<void(std::int64_t)>* work;
  std::int64_t tiles;
  std::atomic<std::int64_t> next{0};
  int helpers = 0;  // inside, guarded by the pool's mutex
  std::exception_ptr failure{};
  std::mutex failure_mutex{};

  void run() {
    for (std::int64_t tile = next++; tile < tiles; tile = next++) {
      try {
        (*work)(tile);
      } catch (...) {
        const std::lock_guard lock(failure_mutex);
        if (!failure) {
          failure = std::current_exception();
        }
        next = tiles;
      }
    }
  }
};

ThreadPool::ThreadPool(int threads) {
  try {
    for (int i = 1; i < threads; ++i) {
      helpers_.emplace_back([this] { help(); });
    }
  } catch (const std::system_error& failure) {
    end_helpers();
    throw Error("can't start " + std::to_string(threads) + " threads: " + failure.code().message(), "--threads",
                "use fewer; more than the cores don't help");
  }
}

ThreadPool::~ThreadPool() { end_helpers(); }

void ThreadPool::end_helpers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  job_posted_.notify_all();
  for (std::thread& helper : helpers_) {
    helper.join();
  }
}

void ThreadPool::for_each_tile(std::int64_t tiles, const std::function<void(std::int64_t)>& work) {
  const std::unique_lock helpers_taken(callers_, std::try_to_lock);
  if (tiles <= 1 || helpers_.empty() || !helpers_taken.owns_lock()) {
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      work(tile);
    }
    return;
  }
  Job job{&work, tiles};
  {
    const std::lock_guard lock(mutex_);
    job_ = &job;
    ++jobs_posted_;
  }
  job_posted_.notify_all();
  job.run();
  {
    std::unique_lock lock(mutex_);
    job_ = nullptr;  // a helper that wakes up late finds nothing to do
    job_left_.wait(lock, [&] { return job.helpers == 0; });
  }
  if (job.failure) {
    std::rethrow_exception(job.failure);
  }
}

void ThreadPool::help() {
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    job_posted_.wait(lock, [&] { return stop_ || (job_ != nullptr && jobs_posted_ != seen); });
    if (stop_) {
      return;
    }
    seen = jobs_posted_;
    Job& job = *job_;
    ++job.helpers;
    lock.unlock();
    job.run();
    lock.lock();
    if (--job.helpers == 0) {
      job_left_.notify_one();
    }
  }
}

}  // namespace trainyard::executor
