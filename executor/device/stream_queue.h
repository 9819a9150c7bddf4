// StreamQueue: one thread that runs posted tasks in order. A device has one per stream in use.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace trainyard::executor {

class StreamQueue {
 public:
  StreamQueue();
  ~StreamQueue();  // runs what is left, then ends the thread
  StreamQueue(const StreamQueue&) = delete;
  StreamQueue& operator=(const StreamQueue&) = delete;

  void post(std::function<void()> task);  // does not block; the task must not throw
  void wait_empty();                      // blocks until every posted task has run

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable posted_;
  std::condition_variable emptied_;
  std::deque<std::function<void()>> tasks_;
  bool running_ = false;  // a task is being run
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace trainyard::executor
