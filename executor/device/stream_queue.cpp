#include "executor/device/stream_queue.h"

#include <utility>

namespace trainyard::executor {

StreamQueue::StreamQueue() : thread_([this] { run(); }) {}

StreamQueue::~StreamQueue() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  posted_.notify_one();
  thread_.join();
}

void StreamQueue::post(std::function<void()> task) {
  bool idle;
  {
    const std::lock_guard lock(mutex_);
    idle = tasks_.empty() && !running_;
    tasks_.push_back(std::move(task));
  }
  if (idle) {  // a busy thread looks at the queue before it sleeps
    posted_.notify_one();
  }
}

void StreamQueue::wait_empty() {
  std::unique_lock lock(mutex_);
  emptied_.wait(lock, [this] { return tasks_.empty() && !running_; });
}

void StreamQueue::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    posted_.wait(lock, [this] { return stop_ || !tasks_.empty(); });
    if (tasks_.empty()) {
      return;
    }
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    running_ = true;
    lock.unlock();
    task();
    task = nullptr;  // what it held is released before the queue is called empty
    lock.lock();
    running_ = false;
    if (tasks_.empty()) {
      emptied_.notify_all();
    }
  }
}

}  // namespace trainyard::executor
